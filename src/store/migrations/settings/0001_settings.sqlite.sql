CREATE TABLE settings (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,  -- JSON
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (realm, user_id, key)
) STRICT, WITHOUT ROWID;
