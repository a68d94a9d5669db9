-- Bodies by their content's hash. A table with rowids keeps large contents out of the index.
CREATE TABLE blobs (
  realm TEXT NOT NULL,
  user_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX blobs_by_hash ON blobs (realm, user_id, hash);
