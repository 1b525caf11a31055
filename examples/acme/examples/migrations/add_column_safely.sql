-- Add a column to a large table without blocking writers.
--
-- Tags: postgres, migration, zero-downtime
-- Source: PRP-29.3
-- Use Case: webhook_inbox.first_attempt_at, added while 40 events per second arrive
--
-- The steps are separate migrations. Between step 1 and step 3 the old and the new
-- version of the application run side by side, so each step works with both.
-- Always set lock_timeout: a migration that waits for a lock makes every other
-- query wait behind it.

-- Step 1: add the column, nullable and without a default. Takes milliseconds.
BEGIN;
SET LOCAL lock_timeout = '2s';
ALTER TABLE webhook_inbox ADD COLUMN first_attempt_at timestamptz;
COMMIT;

-- Step 2: deploy the version that writes the column, then fill old rows in batches.
-- Repeat until it reports UPDATE 0. Ten thousand rows take about 0.3 seconds.
UPDATE webhook_inbox
SET first_attempt_at = received_at
WHERE id IN (
    SELECT id
    FROM webhook_inbox
    WHERE first_attempt_at IS NULL
      AND attempts > 0
    ORDER BY id
    LIMIT 10000
    FOR UPDATE SKIP LOCKED
);

-- Step 3: state the rule without checking old rows, then check them without a lock
-- that blocks writers.
BEGIN;
SET LOCAL lock_timeout = '2s';
ALTER TABLE webhook_inbox
    ADD CONSTRAINT first_attempt_known
    CHECK (attempts = 0 OR first_attempt_at IS NOT NULL) NOT VALID;
COMMIT;

ALTER TABLE webhook_inbox VALIDATE CONSTRAINT first_attempt_known;

-- Step 4: an index, if a query needs it. CONCURRENTLY must run outside a transaction.
CREATE INDEX CONCURRENTLY IF NOT EXISTS webhook_inbox_due
    ON webhook_inbox (next_attempt_at)
    WHERE state IN ('received', 'retrying');

-- Undo: drop the constraint and the index first, then the column in its own migration.
