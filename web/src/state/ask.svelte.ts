// Questions of the page itself, one at a time: a text, or whether one is sure.

export interface Question {
  title: string;
  action: string; // what its button says
  label?: string; // asks for a text under this label
  value?: string;
  wrong?: (value: string) => string; // why the text will not do, or ""
}

class Asker {
  current = $state<Question | null>(null);
  #answer: (value: string | null) => void = () => {};

  // The text, or null when a person left the question.
  text(question: Question): Promise<string | null> {
    this.answer(null);
    this.current = question;
    return new Promise((resolve) => (this.#answer = resolve));
  }

  async sure(title: string, action: string): Promise<boolean> {
    return (await this.text({ title, action })) !== null;
  }

  answer(value: string | null): void {
    this.current = null;
    const resolve = this.#answer;
    this.#answer = () => {};
    resolve(value);
  }
}

export const asker = new Asker();
