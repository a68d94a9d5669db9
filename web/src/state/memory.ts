// The document that the memory panel is to open when it is shown next: other panels lead there.

let wanted = '';

export const memoryPath = {
  want(path: string): void {
    wanted = path;
  },
  take(): string {
    const path = wanted;
    wanted = '';
    return path;
  },
};
