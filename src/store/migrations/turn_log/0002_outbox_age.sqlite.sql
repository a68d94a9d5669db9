-- Finds what was delivered long enough ago to be deleted.
CREATE INDEX outbox_delivered ON outbox (created_at) WHERE state = 'delivered';
