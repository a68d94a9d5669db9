// Which of a long thread's items are in the document: a bounded stretch that moves with the reader.

export const LARGEST = 60; // items at once
export const STEP = 20; // items that come or go at an edge

export interface Stretch {
  start: number;
  end: number;
}

export function atEnd(length: number): Stretch {
  return { start: Math.max(0, length - LARGEST), end: length };
}

export function earlier(stretch: Stretch, length: number): Stretch {
  const start = Math.max(0, stretch.start - STEP);
  return { start, end: Math.min(length, start + LARGEST) };
}

export function later(stretch: Stretch, length: number): Stretch {
  const end = Math.min(length, stretch.end + STEP);
  return { start: Math.max(0, end - LARGEST), end };
}

// Items came (or went) at the end while the reader was somewhere: who stood at the end stays there.
export function grown(stretch: Stretch, before: number, length: number): Stretch {
  if (length < before) return { start: Math.min(stretch.start, Math.max(0, length - LARGEST)), end: Math.min(stretch.end, length) };
  if (stretch.end < before) return stretch;
  return { start: Math.max(stretch.start, length - LARGEST - STEP), end: length };
}

// Older items were put in front.
export function shifted(stretch: Stretch, by: number): Stretch {
  return { start: stretch.start + by, end: stretch.end + by };
}
