import { call, messageOf } from '../api/client.ts';

// The model of this person's next turns with an agent: the same choice as /model makes, for all their threads with that agent.

class Model {
  names = $state<string[]>([]);
  active = $state('');
  message = $state('');
  // What is sent while a choice is on its way waits for it.
  settled: Promise<void> = Promise.resolve();

  #agent = '';
  #configured = '';

  async load(agent = this.#agent): Promise<void> {
    this.#agent = agent;
    try {
      const answer = await call('GET /api/models', { agent });
      if (agent !== this.#agent) return;
      this.names = answer.models.map((model) => model.id);
      this.active = answer.active;
      this.#configured = answer.configured;
      this.message = '';
    } catch (error) {
      this.message = messageOf(error);
    }
  }

  choose(name: string): void {
    this.settled = this.#choose(name);
  }

  async #choose(name: string): Promise<void> {
    this.active = name;
    this.message = '';
    try {
      // What is configured anyway is no choice: the next change of the configuration counts then.
      const answer = await call('PUT /api/models/active', { model: name === this.#configured ? '' : name, agent: this.#agent });
      this.active = answer.active;
      this.#configured = answer.configured;
    } catch (error) {
      await this.load();
      this.message = messageOf(error);
    }
  }
}

export const model = new Model();
