// Writes the types of all operations, made from the OpenAPI document: node api_types.ts OPENAPI OUT
import { readFileSync, writeFileSync, existsSync } from 'node:fs';

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  description?: string;
  $ref?: string;
}
interface Content {
  content?: Record<string, { schema: Schema }>;
}
interface Described {
  operationId: string;
  summary?: string;
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}
interface Document {
  paths: Record<string, Record<string, Described>>;
}

const BASIC: Record<string, string> = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };

const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

// Answers are trusted to have what their schema lists: a schema of ours names as required only what a caller must give.
function type(schema: Schema, optional: boolean): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map((each) => type(each, optional)).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((each) => type({ ...schema, type: each }, optional)).join(' | ');
  if (schema.type === 'array') return `Array<${schema.items ? type(schema.items, optional) : 'unknown'}>`;
  if (schema.type && BASIC[schema.type]) return BASIC[schema.type]!;
  if (!schema.properties) {
    const values = schema.additionalProperties;
    return schema.type === 'object' ? `Record<string, ${values && values !== true ? type(values, optional) : 'unknown'}>` : 'unknown';
  }
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(
    ([name, each]) => `${key(name)}${optional && !required.has(name) ? '?' : ''}: ${type(each, optional)}`,
  );
  return fields.length === 0 ? 'Record<string, never>' : `{ ${fields.join('; ')} }`;
}

function input(operation: Described): string {
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema ?? {};
  const properties: Record<string, Schema> = { ...body.properties };
  const required = [...(body.required ?? [])];
  for (const each of operation.parameters ?? []) {
    properties[each.name] = each.schema;
    if (each.required) required.push(each.name);
  }
  return type({ type: 'object', properties, required }, true);
}

const [, , source, target] = process.argv;
if (!source || !target) throw new Error('usage: api_types.ts OPENAPI OUT');
const document = JSON.parse(readFileSync(source, 'utf8')) as Document;
const lines: string[] = [];
const keys: string[] = [];
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    if (!path.startsWith('/api/')) continue;
    const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
    const answer = Object.values(success?.content ?? {})[0]?.schema ?? {};
    keys.push(`  ${JSON.stringify(`${method.toUpperCase()} ${path}`)},`);
    lines.push(`  /** ${(operation.summary ?? '').replaceAll('*/', '')} */`);
    lines.push(`  ${JSON.stringify(`${method.toUpperCase()} ${path}`)}: { in: ${input(operation)}; out: ${type(answer, false)} };`);
  }
}
const text = `// Made from the OpenAPI document by build_tools/api_types.ts.
export interface Operations {
${lines.join('\n')}
}

export const KEYS: readonly string[] = [
${keys.join('\n')}
];
`;
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
