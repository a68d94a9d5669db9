// The time for running timers. It ticks only while something on the page shows one.

const TICK_MS = 250;

class Clock {
  now = $state(Date.now());
  #users = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  use(): () => void {
    if (this.#users++ === 0) this.#timer = setInterval(() => (this.now = Date.now()), TICK_MS);
    return () => {
      if (--this.#users === 0) clearInterval(this.#timer);
    };
  }
}

export const clock = new Clock();
