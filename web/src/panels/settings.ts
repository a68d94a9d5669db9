export interface Setting {
  key: string;
  value: unknown;
  updated_at?: string;
  source?: string;
  default?: unknown;
  help?: string;
  type?: string;
  choices?: string[];
  reloadable?: boolean;
  secret?: boolean;
}

// Settings that fit the words, by the part of the engine they are for.
export function grouped(settings: Setting[], query: string): Array<[string, Setting[]]> {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Setting[]>();
  for (const setting of settings) {
    const text = `${setting.key} ${setting.help ?? ''}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const group = setting.key.split('.')[0]!;
    groups.set(group, [...(groups.get(group) ?? []), setting]);
  }
  return [...groups].toSorted(([a], [b]) => a.localeCompare(b));
}

export function shownValue(setting: Setting): string {
  if (setting.value === null || setting.value === undefined) return '';
  return typeof setting.value === 'object' ? JSON.stringify(setting.value) : String(setting.value);
}

// What the engine is sent for what a person typed; a text that is none of its type goes as it is, and the engine says what it expected.
export function parsed(setting: Setting, text: string): unknown {
  const type = setting.type ?? '';
  if (/^(bool|boolean)$/.test(type)) return text === 'true';
  if (/^(int|integer|float|number|size|port)/.test(type) && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  return text;
}
