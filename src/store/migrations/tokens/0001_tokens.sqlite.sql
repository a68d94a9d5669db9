CREATE TABLE tokens (
  id TEXT NOT NULL PRIMARY KEY,
  hash TEXT NOT NULL,  -- of the secret, which is not kept
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  permissions TEXT NOT NULL,  -- JSON array
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_user ON tokens (realm, user_id, created_at, id);
