import { KEYS, type Operations } from '../../generated/api.ts';

// One typed client for all operations: the key is method and path as the OpenAPI document has them.

export type Key = keyof Operations;
export type Input<K extends Key> = Operations[K]['in'];
export type Output<K extends Key> = Operations[K]['out'];

// Whether the engine that this page is part of has an operation: what it has not is not shown.
export function offers(key: string): boolean {
  return KEYS.includes(key);
}

export class ApiError extends Error {
  readonly status: number; // 0: the engine was not reached
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let token = '';
let onRefused: () => void = () => {};

export function setToken(value: string): void {
  token = value;
}
export function currentToken(): string {
  return token;
}
// Called when the engine does not know the token (any more).
export function whenRefused(handler: () => void): void {
  onRefused = handler;
}

// The request of a call: what stands in the path goes there, the rest into the query or, where the method has one, the body.
export function requestOf(key: string, input: Record<string, unknown>): { method: string; url: string; body?: string } {
  const space = key.indexOf(' ');
  const method = key.slice(0, space);
  const rest = { ...input };
  const path = key.slice(space + 1).replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(String(value));
  });
  if (method === 'POST' || method === 'PUT' || method === 'PATCH') return { method, url: path, body: JSON.stringify(rest) };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) if (value !== undefined && value !== '') query.set(name, String(value));
  return { method, url: query.size > 0 ? `${path}?${query}` : path };
}

async function failure(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, 'internal', text.slice(0, 200) || `the engine answered with status ${response.status}`);
  }
}

export async function call<K extends Key>(key: K, input: Input<K>, signal?: AbortSignal): Promise<Output<K>> {
  const { method, url, body } = requestOf(key, input as Record<string, unknown>);
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(url, { method, headers, body, signal, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unavailable', 'The engine cannot be reached.');
  }
  if (response.status === 401) onRefused();
  if (!response.ok) throw await failure(response);
  if (response.status === 204) return undefined as unknown as Output<K>;
  return (await response.json()) as Output<K>;
}

// The address of an event stream. A browser's EventSource sends no header, so the token goes into the query, which the engine never logs.
export function streamUrl(path: string, params: Record<string, string>): string {
  return `${path}?${new URLSearchParams({ token, ...params })}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
