interface Named {
  name: string;
  description: string;
  group: string;
}

// Tools with the words in name or description, by group.
export function byGroup<T extends Named>(tools: T[], query: string): Array<[string, T[]]> {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, T[]>();
  for (const tool of tools) {
    const text = `${tool.name} ${tool.description}`.toLowerCase();
    if (words.every((word) => text.includes(word))) groups.set(tool.group, [...(groups.get(tool.group) ?? []), tool]);
  }
  return [...groups].toSorted(([a], [b]) => a.localeCompare(b));
}
