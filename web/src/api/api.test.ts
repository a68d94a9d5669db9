import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, call, requestOf, setToken, whenRefused } from './client.ts';
import { takeToken } from './session.ts';

afterEach(() => vi.unstubAllGlobals());

describe('requests', () => {
  it('put input into path, query or body', () => {
    expect(requestOf('GET /api/chat/history', { thread_id: 'a b', limit: 3, before: undefined })).toEqual({ method: 'GET', url: '/api/chat/history?thread_id=a+b&limit=3' });
    expect(requestOf('PUT /api/settings/{key}', { key: 'a/../b', value: 1 })).toEqual({ method: 'PUT', url: '/api/settings/a%2F..%2Fb', body: '{"value":1}' });
    expect(requestOf('GET /api/agents', {})).toEqual({ method: 'GET', url: '/api/agents' });
  });

  it('carry the token, and failures keep what the engine said', async () => {
    setToken('secret');
    const fetched = vi.fn(async (_url: string, _init: RequestInit) => new Response('{"error":{"code":"not_found","message":"no such thread"}}', { status: 404 }));
    vi.stubGlobal('fetch', fetched);
    await expect(call('GET /api/agents', {})).rejects.toMatchObject({ status: 404, code: 'not_found', message: 'no such thread' });
    expect(fetched.mock.calls[0]![1].headers).toMatchObject({ Authorization: 'Bearer secret' });
  });

  it('that are refused say so once, and an engine that is away is no crash', async () => {
    const refused = vi.fn();
    whenRefused(refused);
    vi.stubGlobal('fetch', async () => new Response('nonsense', { status: 401 }));
    await expect(call('GET /api/agents', {})).rejects.toBeInstanceOf(ApiError);
    expect(refused).toHaveBeenCalledOnce();
    vi.stubGlobal('fetch', async () => { throw new TypeError('network'); });
    await expect(call('GET /api/agents', {})).rejects.toMatchObject({ status: 0, code: 'unavailable' });
  });
});

describe('the token', () => {
  it('moves from the address to this tab', () => {
    history.replaceState(null, '', '/?token=abc&x=1#logs');
    expect(takeToken(location, history, sessionStorage)).toBe('abc');
    expect(location.pathname + location.search + location.hash).toBe('/?x=1#logs');
    expect(takeToken(location, history, sessionStorage)).toBe('abc');
    sessionStorage.clear();
    expect(takeToken(location, history, sessionStorage)).toBe('');
  });
});
