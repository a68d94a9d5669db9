-- What models have cost a user, by day (since 1970-01-01, UTC). Added to in the transaction that logs the call or the turn's end.
CREATE TABLE usage_days (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  model TEXT NOT NULL,
  turns INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  PRIMARY KEY (realm, user_id, day, model)
) STRICT, WITHOUT ROWID;
