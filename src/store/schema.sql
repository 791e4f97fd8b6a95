-- The entries are the record. Everything below them is derived: fold the entries again, and the same
-- rows come back. (Of `keys` only those that somebody gave are kept, which the entries do not tell.)
CREATE TABLE entries (
    seq     INTEGER PRIMARY KEY,
    digest  BLOB NOT NULL,
    body    TEXT NOT NULL,
    opening TEXT
) STRICT;
-- Guards against our own mistakes; against anybody else there is the chain.
CREATE TRIGGER entries_are_not_edited BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never edited'); END;
CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;

CREATE TABLE keys (key TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE drafts (
    draft        INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL,
    text         TEXT NOT NULL,
    registration TEXT NOT NULL,
    extent       TEXT NOT NULL
) STRICT;
-- The tasks of a frame that is known with the protocol, and where each stands in the draw or among the pilots.
CREATE TABLE tasks (
    draft        INTEGER NOT NULL,
    id           TEXT NOT NULL,
    fields       TEXT NOT NULL,
    confirmatory INTEGER,
    place        INTEGER,
    PRIMARY KEY (draft, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tasks_in_order ON tasks (draft, confirmatory, place) WHERE confirmatory IS NOT NULL;
-- `applied` is the entry that standing, runs and lanes stand for; they may lag behind the newest.
CREATE TABLE standing (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    applied INTEGER NOT NULL,
    facts   TEXT NOT NULL
) STRICT;
CREATE TABLE runs (
    run        INTEGER PRIMARY KEY,
    role       TEXT NOT NULL,
    task       TEXT NOT NULL,
    arm        TEXT NOT NULL,
    state      TEXT NOT NULL,
    stopped_in INTEGER,
    facts      TEXT NOT NULL
) STRICT;
CREATE INDEX runs_of_a_cell ON runs (task, arm, run) WHERE role = 'counted';
CREATE INDEX error_stops_of_a_window ON runs (stopped_in, run) WHERE stopped_in IS NOT NULL;
CREATE INDEX controls_of_a_task ON runs (task, arm, run) WHERE role = 'control';
CREATE TABLE lanes (
    draft  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    stage  INTEGER NOT NULL,
    ready  INTEGER,
    facts  TEXT NOT NULL,
    PRIMARY KEY (draft, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes_that_may_start ON lanes (stage, ready) WHERE ready IS NOT NULL;
-- What accumulates beside runs and lanes, one row for each key.
CREATE TABLE facts (key TEXT PRIMARY KEY, fact TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- Which log belongs to the file. A log has a name, under which its commits are counted, and says where
-- the log before it ended, all of which is in the file but for its last commit, where the log has these
-- salts. (Counted from 2^40: the row keeps its length.)
CREATE TABLE marks (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    log      BLOB NOT NULL,
    commits  INTEGER NOT NULL,
    follows  BLOB NOT NULL,
    followed INTEGER NOT NULL,
    salts    BLOB NOT NULL
) STRICT;
