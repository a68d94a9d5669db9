CREATE TABLE threads (
  id TEXT NOT NULL,
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  external_thread TEXT NOT NULL,  -- '' when the channel has no name for it
  title TEXT NOT NULL,
  open_turn TEXT NOT NULL,        -- '' when no turn is open
  transcript_hash TEXT NOT NULL,
  last_seq INTEGER NOT NULL,      -- of its records
  turn_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX threads_by_id ON threads (id);
CREATE UNIQUE INDEX threads_by_key ON threads (realm, user_id, agent, channel, external_thread) WHERE external_thread <> '';
CREATE INDEX threads_by_user ON threads (realm, user_id);
CREATE INDEX threads_by_transcript ON threads (realm, user_id, channel, transcript_hash) WHERE transcript_hash <> '';
CREATE INDEX threads_open ON threads (id) WHERE open_turn <> '';

-- The last position given to a record of the user, counted in the transaction that writes the record: without gaps.
CREATE TABLE positions (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  last_pos INTEGER NOT NULL,
  PRIMARY KEY (realm, user_id)
) STRICT, WITHOUT ROWID;

-- Rowids grow with time, so that the records of one commit, of whatever threads, lie side by side at the table's end.
CREATE TABLE records (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  thread TEXT NOT NULL,
  seq INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  turn TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX records_by_thread ON records (thread, seq);
CREATE UNIQUE INDEX records_by_user ON records (realm, user_id, pos);

CREATE TABLE outbox (
  id TEXT NOT NULL,
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  thread TEXT NOT NULL,
  turn TEXT NOT NULL,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'delivered', 'unknown', 'failed')),
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX outbox_by_id ON outbox (id);
CREATE INDEX outbox_undelivered ON outbox (created_at, id) WHERE state IN ('pending', 'sending');

-- What a client's key was used for; kept for a day.
CREATE TABLE idempotency_keys (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  key TEXT NOT NULL,
  message_id TEXT NOT NULL,
  thread TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX idempotency_keys_by_key ON idempotency_keys (realm, user_id, key);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
