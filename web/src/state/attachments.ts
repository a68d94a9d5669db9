// Files on their way to the engine.

export interface Outgoing {
  name: string;
  media_type: string;
  data: string; // base64
}

export const MAX_FILES = 8;
// The route takes 10 MiB with everything; base64 makes four bytes of three.
export const MAX_BYTES = 7_500_000;

export async function encode(file: File): Promise<Outgoing> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  // In pieces: a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return { name: file.name || 'pasted', media_type: file.type || 'application/octet-stream', data: btoa(text) };
}

// What can be added, and why the rest cannot.
export function accept(present: File[], added: File[]): { files: File[]; refused: string } {
  const files = [...present];
  let bytes = present.reduce((sum, file) => sum + file.size, 0);
  for (const file of added) {
    if (files.length >= MAX_FILES) return { files, refused: `At most ${MAX_FILES} files go with a message.` };
    if (bytes + file.size > MAX_BYTES) return { files, refused: `${file.name || 'The file'} is too large: ${size(MAX_BYTES)} for all files of a message.` };
    bytes += file.size;
    files.push(file);
  }
  return { files, refused: '' };
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
