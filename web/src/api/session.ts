import { setToken } from './client.ts';

// The token lives in this tab only: a link brings it, the address forgets it, closing the tab ends it.

const KEY = 'chela.token';

// Takes the token out of the address, or out of this tab's storage. "" when there is none.
export function takeToken(place: Location, past: History, storage: Storage): string {
  const address = new URL(place.href);
  const given = address.searchParams.get('token');
  if (given !== null) {
    address.searchParams.delete('token');
    past.replaceState(past.state, '', address.pathname + address.search + address.hash);
  }
  if (given) storage.setItem(KEY, given);
  return given || storage.getItem(KEY) || '';
}

export function logIn(token: string): void {
  sessionStorage.setItem(KEY, token);
  setToken(token);
}

export function logOut(): void {
  sessionStorage.removeItem(KEY);
  setToken('');
}
