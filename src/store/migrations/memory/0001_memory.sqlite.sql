-- One row per (realm, user, agent): its number marks the owner's chunks inside the full-text index.
CREATE TABLE memory_owners (
  id INTEGER PRIMARY KEY,
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  agent TEXT NOT NULL,  -- '' = shared by the user's agents
  chunks INTEGER NOT NULL DEFAULT 0,
  UNIQUE (realm, user_id, agent)
) STRICT;

CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  path TEXT NOT NULL,
  content TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (realm, user_id, agent, path)
) STRICT;

CREATE TABLE chunks (
  number INTEGER PRIMARY KEY,
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  owner INTEGER NOT NULL REFERENCES memory_owners (id),
  document INTEGER NOT NULL REFERENCES documents (number),
  chunk_index INTEGER NOT NULL,
  content TEXT NOT NULL,
  UNIQUE (document, chunk_index)
) STRICT;

-- The owner is an indexed word, so that a search never walks through other owners' chunks.
CREATE VIRTUAL TABLE chunks_text USING fts5 (owner, content, content='chunks', content_rowid='number', tokenize='porter unicode61');

CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_text (rowid, owner, content) VALUES (new.number, new.owner, new.content);
  UPDATE memory_owners SET chunks = chunks + 1 WHERE id = new.owner;
END;

CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO chunks_text (chunks_text, rowid, owner, content) VALUES ('delete', old.number, old.owner, old.content);
  UPDATE memory_owners SET chunks = chunks - 1 WHERE id = old.owner;
END;
