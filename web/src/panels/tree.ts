export interface Entry {
  path: string;
  is_dir: boolean;
}

// "a/b/c.md" -> "a/b/"; "" at the top.
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

// What is not inside a closed folder, each folder's content after it.
export function visible(entries: Entry[], closed: string[]): Entry[] {
  return entries
    .filter((entry) => !closed.some((folder) => entry.path.startsWith(`${folder}/`)))
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

// Folders before documents on every level.
function sortKey(entry: Entry): string {
  const parts = entry.path.split('/');
  return parts.map((part, at) => (at < parts.length - 1 || entry.is_dir ? `0${part}` : `1${part}`)).join('\u0000');
}

// A path that no document has yet, to begin with.
export function newPath(entries: Entry[]): string {
  const taken = new Set(entries.map((entry) => entry.path));
  for (let number = 1; ; ++number) {
    const path = `notes/new${number > 1 ? `-${number}` : ''}.md`;
    if (!taken.has(path)) return path;
  }
}

// Why a new document cannot have this path, or "". What else is wrong with it, the engine says when it is saved.
export function wrongPath(path: string, entries: Entry[]): string {
  if (path === '') return 'It needs a path.';
  if (path.startsWith('/') || path.endsWith('/')) return 'A path neither begins nor ends with a slash.';
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) return 'A path goes through named folders only.';
  if (entries.some((entry) => entry.path === path)) return 'There is a document of this path already.';
  return '';
}
