-- Every call of a model that money or limits are counted for. `open` while it runs; it is written before, and again after the call.
-- Money in nano-dollars. `quarter` is `at` in quarters of an hour, which are parts of a day in every time zone.
CREATE TABLE budget_calls (
  id TEXT NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  quarter INTEGER NOT NULL,
  open INTEGER NOT NULL,
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  job TEXT NOT NULL,
  channel TEXT NOT NULL,
  client_key TEXT NOT NULL,
  model TEXT NOT NULL,
  reserved INTEGER NOT NULL,
  prompt_cost INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  priced INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX budget_calls_at ON budget_calls (at);
CREATE INDEX budget_calls_user ON budget_calls (realm, user_id, at);
CREATE INDEX budget_calls_open ON budget_calls (at) WHERE open = 1;

-- Whether an engine counts, or counted until it died.
CREATE TABLE budget_state (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  running INTEGER NOT NULL
) STRICT;
