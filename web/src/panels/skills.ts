// Skills are documents of the memory: skills/<name>/SKILL.md, or any other document in that folder.
export const SKILLS = 'skills/';
const FILE = '/SKILL.md';

export function isSkill(path: string): boolean {
  return path.startsWith(SKILLS);
}

export function skillPath(name: string): string {
  return `${SKILLS}${name}${FILE}`;
}

export function skillName(path: string): string {
  const rest = path.slice(SKILLS.length);
  return rest.endsWith(FILE) ? rest.slice(0, -FILE.length) : rest;
}

export interface Found {
  path: string;
  content: string;
}

// Skills with the words in their name.
export function named(skills: string[], words: string): Found[] {
  return skills.filter((path) => skillName(path).toLowerCase().includes(words.toLowerCase())).map((path) => ({ path, content: '' }));
}

// Those and what a search over the whole memory found of skills, each once, with its text where there is one.
export function merged(byName: Found[], searched: Found[]): Found[] {
  const found = new Map(byName.map((each) => [each.path, each]));
  for (const each of searched.toReversed()) if (isSkill(each.path)) found.set(each.path, { path: each.path, content: each.content });
  return [...found.values()];
}

export function wrongName(name: string, skills: string[]): string {
  if (!/^[\w-]+(\.[\w-]+)*$/.test(name)) return 'A name has letters, digits, "-", "_" and single dots.';
  return skills.includes(skillPath(name)) ? 'There is a skill of this name already.' : '';
}

export const TEMPLATE = (name: string): string => `# ${name}\n\nWhen to use it: \n\nHow:\n\n1. \n`;
