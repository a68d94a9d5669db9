import { call } from '../api/client.ts';

// The slash commands of the engine, for completion.

export interface Command {
  name: string;
  argument?: string;
  usage?: string;
  help: string;
}

class Commands {
  list = $state<Command[]>([]);
  hidden = $state(''); // the text at which a person closed the list
  #asked = false;

  load(): void {
    if (this.#asked) return;
    this.#asked = true;
    call('GET /api/chat/commands', {})
      .then((answer) => (this.list = (answer as { commands: Command[] }).commands))
      .catch(() => (this.#asked = false)); // asked for again when the field is entered again
  }

  matching(text: string): Command[] {
    if (!/^\/\S*$/.test(text) || text === this.hidden) return [];
    return this.list.filter((command) => command.name.startsWith(text.toLowerCase()) && command.name !== text.toLowerCase());
  }
}

export const commands = new Commands();
