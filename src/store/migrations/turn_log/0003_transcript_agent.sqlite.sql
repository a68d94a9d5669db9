-- A conversation goes on with the agent it was begun with.
DROP INDEX threads_by_transcript;
CREATE INDEX threads_by_transcript ON threads (realm, user_id, agent, channel, transcript_hash) WHERE transcript_hash <> '';
