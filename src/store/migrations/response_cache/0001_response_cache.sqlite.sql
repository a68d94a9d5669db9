-- Whole answers of models by the hash of what was asked. Everybody has their own.
CREATE TABLE response_cache (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL,  -- JSON
  at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (realm, user_id, key)
) STRICT;

CREATE INDEX response_cache_used ON response_cache (realm, user_id, used_at);
