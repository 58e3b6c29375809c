-- The whole canonical model from day one (DESIGN.md, Storage). Words live in `content` and nowhere
-- else: every other table holds ids, numbers and keyed digests. Canonical rows carry the sequence
-- number of the event that made them (added_seq) and of the one that ended them (ended_seq).
-- Enumerations are small integers; their names are in src/core/types.ts, in this order.

-- One row: who this brain is. `secret` keys every digest in the file.
CREATE TABLE brain (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  public_id   BLOB    NOT NULL CHECK (length(public_id) = 10),
  secret      BLOB    NOT NULL CHECK (length(secret) = 32),
  created_at  INTEGER NOT NULL
) STRICT;

-- Text. A row is written once and can only be zeroed in place: same id, same lengths (erasure).
-- No further column may be added: any other value in the row let erased text survive in page slack.
CREATE TABLE content (
  id    INTEGER PRIMARY KEY,
  salt  BLOB NOT NULL CHECK (length(salt) = 32),
  body  BLOB NOT NULL
) STRICT;

CREATE TRIGGER content_update BEFORE UPDATE ON content
WHEN NEW.id <> OLD.id
  OR NEW.salt <> zeroblob(32)
  OR NEW.body <> zeroblob(length(OLD.body))
BEGIN SELECT RAISE(ABORT, 'content is written once; only erasure may zero it in place'); END;

CREATE TRIGGER content_delete BEFORE DELETE ON content
BEGIN SELECT RAISE(ABORT, 'content is never deleted; erasure zeroes it in place'); END;

-- For a person with any SQLite tool: text of a content row, NULL once erased.
CREATE VIEW readable_content AS
  SELECT id, CASE WHEN salt = zeroblob(32) THEN NULL ELSE CAST(body AS TEXT) END AS text FROM content;

-- The ledger this file is writing, those it grew out of (a restore starts a new one), and those of other
-- brains kept for verification (own = 0). Events of own ledgers are numbered on without a restart, so that
-- added_seq, ended_seq, recalled_by and the like name one event whatever ledger it stands in.
CREATE TABLE ledger (
  id             INTEGER PRIMARY KEY,
  public_id      BLOB    NOT NULL UNIQUE CHECK (length(public_id) = 10),
  started_at     INTEGER NOT NULL,
  own            INTEGER NOT NULL CHECK (own IN (0, 1)),
  writing        INTEGER CHECK (writing = 1),                       -- 1 for the one being written, else NULL
  first_seq      INTEGER NOT NULL,
  -- chain value this ledger continues, and the ledger it stood in; zeros for a first one
  genesis        BLOB    NOT NULL CHECK (length(genesis) = 32),
  continues_id   INTEGER REFERENCES ledger (id) ON DELETE RESTRICT,
  CHECK (writing IS NULL OR own = 1)
) STRICT;
CREATE UNIQUE INDEX ledger_writing ON ledger (writing) WHERE writing = 1;

-- Append-only and hash-chained. payload: canonical JSON holding public ids, numbers and hex digests only.
CREATE TABLE event (
  ledger_id   INTEGER NOT NULL REFERENCES ledger (id) ON DELETE RESTRICT,
  seq         INTEGER NOT NULL,
  version     INTEGER NOT NULL,
  kind        TEXT    NOT NULL,
  actor       INTEGER NOT NULL CHECK (actor >= 0),
  at          INTEGER NOT NULL,
  payload     BLOB    NOT NULL,
  -- salted hash of the content row this event brought; NULL when it brought none
  commitment  BLOB    CHECK (commitment IS NULL OR length(commitment) = 32),
  chain       BLOB    NOT NULL CHECK (length(chain) = 32),
  PRIMARY KEY (ledger_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_update BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER event_delete BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER event_in_order BEFORE INSERT ON event
WHEN NEW.seq <> coalesce((SELECT max(seq) + 1 FROM event WHERE ledger_id = NEW.ledger_id),
                         (SELECT first_seq FROM ledger WHERE id = NEW.ledger_id))
BEGIN SELECT RAISE(ABORT, 'events are numbered without a gap'); END;

-- Short recurring words: kinds, domains, tags, aspects, facet names and values, speakers, source names,
-- scopes. type: src/store/labels.ts. digest: keyed, for look-up without reading words.
CREATE TABLE label (
  id          INTEGER PRIMARY KEY,
  public_id   BLOB    NOT NULL UNIQUE CHECK (length(public_id) = 10),
  type        INTEGER NOT NULL,
  digest      BLOB    CHECK (digest IS NULL OR length(digest) = 16),
  content_id  INTEGER NOT NULL REFERENCES content (id) ON DELETE RESTRICT,
  added_seq   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX label_by_digest ON label (type, digest) WHERE digest IS NOT NULL;

-- Scopes in one order of restrictiveness; a derived thought takes the highest rank of its parents.
CREATE TABLE scope (
  id         INTEGER PRIMARY KEY,
  label_id   INTEGER NOT NULL UNIQUE REFERENCES label (id) ON DELETE RESTRICT,
  rank       INTEGER NOT NULL UNIQUE,
  added_seq  INTEGER NOT NULL
) STRICT;

-- Sources and thoughts in one id space. State axes (decayed … permanence) change through the audit
-- helper only: the trigger below refuses a change without its transition row. The other axes likewise.
CREATE TABLE node (
  id             INTEGER PRIMARY KEY,
  public_id      BLOB    NOT NULL UNIQUE CHECK (length(public_id) = 10),
  role           INTEGER NOT NULL CHECK (role IN (0, 1)),          -- 0 source, 1 thought
  kind_id        INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  scope_id       INTEGER NOT NULL REFERENCES scope (id) ON DELETE RESTRICT,
  domain_id      INTEGER REFERENCES label (id) ON DELETE RESTRICT,
  speaker_id     INTEGER REFERENCES label (id) ON DELETE RESTRICT, -- who said it, part of the value
  content_id     INTEGER REFERENCES content (id) ON DELETE RESTRICT,
  value_key      BLOB    CHECK (value_key IS NULL OR length(value_key) = 16),
  basis          INTEGER NOT NULL CHECK (basis >= 0),
  confidence     INTEGER CHECK (confidence BETWEEN 0 AND 100),
  salience       INTEGER CHECK (salience BETWEEN 0 AND 100),
  -- sources: the level given to them; thoughts: best leg of the worst parent, kept by the write path
  trust          INTEGER NOT NULL CHECK (trust >= 0),
  recorded_at    INTEGER NOT NULL,                                  -- operational clock
  referent_from  INTEGER,                                           -- biographical clock of the latest visible
  referent_to    INTEGER,                                           --   occurrence; NULL end = open
  referent_kind  INTEGER NOT NULL DEFAULT 0 CHECK (referent_kind >= 0), -- 0 not given, 1 known, 2 offset unknown
  valid_from     INTEGER,
  valid_to       INTEGER,
  due_at         INTEGER,
  decayed        INTEGER NOT NULL DEFAULT 0 CHECK (decayed >= 0),
  belief         INTEGER NOT NULL DEFAULT 0 CHECK (belief >= 0),
  permanence     INTEGER NOT NULL DEFAULT 0 CHECK (permanence >= 0),
  merged_into    INTEGER REFERENCES node (id) ON DELETE RESTRICT,
  recalled_by    INTEGER,                                           -- event that recalled it
  erased_by      INTEGER,                                           -- event that erased it
  stale_by       INTEGER,                                           -- event that superseded what it rests on
  token_count    INTEGER NOT NULL DEFAULT 0 CHECK (token_count >= 0), -- analysed terms, for BM25
  added_seq      INTEGER NOT NULL,
  CHECK (merged_into IS NULL OR merged_into <> id)
) STRICT;
CREATE UNIQUE INDEX node_by_value ON node (scope_id, value_key) WHERE value_key IS NOT NULL;
CREATE INDEX node_by_recorded ON node (role, recorded_at);
CREATE INDEX node_by_due ON node (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX node_by_kind ON node (kind_id, id);
CREATE INDEX node_by_domain ON node (domain_id, id) WHERE domain_id IS NOT NULL;
CREATE INDEX node_by_referent ON node (referent_from) WHERE referent_kind > 0;
CREATE INDEX node_by_content ON node (content_id) WHERE content_id IS NOT NULL;
CREATE INDEX node_merged ON node (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX node_hidden ON node (decayed) WHERE decayed > 0;
CREATE INDEX node_recalled ON node (recalled_by) WHERE recalled_by IS NOT NULL;
CREATE INDEX node_erased ON node (erased_by) WHERE erased_by IS NOT NULL;
CREATE INDEX node_permanent ON node (permanence) WHERE permanence > 0;
CREATE INDEX node_belief ON node (belief) WHERE belief > 0;

CREATE TRIGGER node_delete BEFORE DELETE ON node
BEGIN SELECT RAISE(ABORT, 'nodes are never deleted'); END;

-- Every change of an audited axis, old and new value. axis: src/store/ledger.ts.
CREATE TABLE transition (
  event_seq  INTEGER NOT NULL,
  node_id    INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  axis       INTEGER NOT NULL,
  old        INTEGER,
  new        INTEGER,
  PRIMARY KEY (event_seq, node_id, axis)
) STRICT, WITHOUT ROWID;
CREATE INDEX transition_by_node ON transition (node_id, axis, event_seq);
CREATE TRIGGER transition_of_newest_event BEFORE INSERT ON transition
WHEN NEW.event_seq IS NOT (SELECT max(seq) FROM event WHERE ledger_id = (SELECT id FROM ledger WHERE writing = 1))
BEGIN SELECT RAISE(ABORT, 'a transition belongs to the event that was just written'); END;
CREATE TRIGGER transition_update BEFORE UPDATE ON transition
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;
CREATE TRIGGER transition_delete BEFORE DELETE ON transition
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;

-- The audit helper cannot be bypassed: an axis changes only to what the newest transition says.
CREATE TRIGGER node_state_is_audited
BEFORE UPDATE OF decayed, belief, permanence, merged_into, recalled_by, erased_by, stale_by, trust, kind_id, domain_id, scope_id, due_at, valid_from, valid_to, confidence, salience ON node
WHEN EXISTS (
  SELECT 1 FROM (
    SELECT 1 AS axis, OLD.decayed AS was, NEW.decayed AS becomes
    UNION ALL SELECT 2, OLD.belief, NEW.belief
    UNION ALL SELECT 3, OLD.permanence, NEW.permanence
    UNION ALL SELECT 4, OLD.merged_into, NEW.merged_into
    UNION ALL SELECT 5, OLD.recalled_by, NEW.recalled_by
    UNION ALL SELECT 6, OLD.erased_by, NEW.erased_by
    UNION ALL SELECT 7, OLD.stale_by, NEW.stale_by
    UNION ALL SELECT 8, OLD.trust, NEW.trust
    UNION ALL SELECT 9, OLD.kind_id, NEW.kind_id
    UNION ALL SELECT 10, OLD.domain_id, NEW.domain_id
    UNION ALL SELECT 11, OLD.scope_id, NEW.scope_id
    UNION ALL SELECT 12, OLD.due_at, NEW.due_at
    UNION ALL SELECT 13, OLD.valid_from, NEW.valid_from
    UNION ALL SELECT 14, OLD.valid_to, NEW.valid_to
    UNION ALL SELECT 15, OLD.confidence, NEW.confidence
    UNION ALL SELECT 16, OLD.salience, NEW.salience
  ) change
  WHERE change.was IS NOT change.becomes
    AND NOT EXISTS (
      SELECT 1 FROM transition t
      WHERE t.node_id = OLD.id AND t.axis = change.axis AND t.new IS change.becomes AND t.old IS change.was
        AND t.event_seq = (SELECT max(event_seq) FROM transition WHERE node_id = OLD.id AND axis = change.axis)
    )
)
BEGIN SELECT RAISE(ABORT, 'a state changes only together with its transition'); END;

-- What only sources have. key_digest: keyed digest of type and stable key.
CREATE TABLE source (
  node_id               INTEGER PRIMARY KEY REFERENCES node (id) ON DELETE RESTRICT,
  type                  INTEGER NOT NULL CHECK (type >= 0),
  key_digest            BLOB    UNIQUE CHECK (length(key_digest) = 16),        -- NULL once erased
  name_id               INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  reference_content_id  INTEGER REFERENCES content (id) ON DELETE RESTRICT
) STRICT;
CREATE INDEX source_by_name ON source (name_id);

-- One independent justification of a thought. axiom: it rests on nothing but the person's word.
-- parents_digest: identity of the set of parents, so that the same set is one leg.
CREATE TABLE leg (
  id              INTEGER PRIMARY KEY,
  node_id         INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  axiom           INTEGER NOT NULL CHECK (axiom IN (0, 1)),
  parents_digest  BLOB    NOT NULL CHECK (length(parents_digest) = 16),
  added_seq       INTEGER NOT NULL,
  ended_seq       INTEGER
) STRICT;
CREATE UNIQUE INDEX leg_by_parents ON leg (node_id, parents_digest) WHERE ended_seq IS NULL;
CREATE INDEX leg_by_node ON leg (node_id);

-- Parent → child within one leg of the child.
CREATE TABLE derivation (
  leg_id     INTEGER NOT NULL REFERENCES leg (id) ON DELETE RESTRICT,
  parent_id  INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  child_id   INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  PRIMARY KEY (leg_id, parent_id),
  CHECK (parent_id <> child_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX derivation_by_parent ON derivation (parent_id, child_id);
CREATE INDEX derivation_by_child ON derivation (child_id, parent_id);

-- Where and when a value was met. `next` is the order of ordinals within a source and thread; ordinals
-- are gapped so that an insertion moves nothing. A record met again is known by its keyed digest.
CREATE TABLE occurrence (
  id             INTEGER PRIMARY KEY,
  node_id        INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  source_id      INTEGER NOT NULL REFERENCES source (node_id) ON DELETE RESTRICT,
  leg_id         INTEGER NOT NULL REFERENCES leg (id) ON DELETE RESTRICT,
  thread         INTEGER NOT NULL DEFAULT 0,
  ordinal        INTEGER NOT NULL,
  speaker_id     INTEGER REFERENCES label (id) ON DELETE RESTRICT,
  referent_from  INTEGER,
  referent_to    INTEGER,
  referent_kind  INTEGER NOT NULL DEFAULT 0 CHECK (referent_kind >= 0),
  record_digest  BLOB    UNIQUE CHECK (record_digest IS NULL OR length(record_digest) = 16),
  event_seq      INTEGER NOT NULL,
  ended_seq      INTEGER
) STRICT;
CREATE UNIQUE INDEX occurrence_place ON occurrence (source_id, ordinal) WHERE ended_seq IS NULL;
CREATE INDEX occurrence_by_time ON occurrence (referent_from, referent_to, node_id)
  WHERE referent_kind > 0 AND ended_seq IS NULL;
CREATE INDEX occurrence_by_node ON occurrence (node_id);
CREATE INDEX occurrence_by_leg ON occurrence (leg_id);
CREATE INDEX occurrence_in_order ON occurrence (source_id, thread, ordinal);

-- Typed edges that justify nothing. weight: 0–1000, for similar links the calibrated similarity.
CREATE TABLE link (
  id         INTEGER PRIMARY KEY,
  type       INTEGER NOT NULL CHECK (type >= 0),
  from_id    INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  to_id      INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  weight     INTEGER NOT NULL CHECK (weight BETWEEN 0 AND 1000),
  added_seq  INTEGER NOT NULL,
  ended_seq  INTEGER,
  CHECK (from_id <> to_id)
) STRICT;
CREATE UNIQUE INDEX link_between ON link (from_id, to_id, type) WHERE ended_seq IS NULL;
CREATE INDEX link_outgoing ON link (from_id, type, weight DESC, to_id) WHERE ended_seq IS NULL;
CREATE INDEX link_incoming ON link (to_id, type, weight DESC, from_id) WHERE ended_seq IS NULL;

-- A wikilink as written, kept until (and after) its target is met. target_digest: keyed digest of the
-- folded base name, so that a note added later finds the links that wait for it.
CREATE TABLE mention (
  id             INTEGER PRIMARY KEY,
  occurrence_id  INTEGER NOT NULL REFERENCES occurrence (id) ON DELETE RESTRICT,
  target_digest  BLOB    CHECK (length(target_digest) = 16),        -- NULL once erased
  target_id      INTEGER NOT NULL REFERENCES content (id) ON DELETE RESTRICT,
  link_id        INTEGER REFERENCES link (id) ON DELETE RESTRICT,
  event_seq      INTEGER NOT NULL,
  joined_seq     INTEGER                                            -- event that last joined or parted it
) STRICT;
CREATE INDEX mention_by_link ON mention (link_id) WHERE link_id IS NOT NULL;
CREATE INDEX mention_by_target ON mention (target_digest);
CREATE INDEX mention_by_occurrence ON mention (occurrence_id);

CREATE TABLE node_tag (
  node_id    INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  label_id   INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  added_seq  INTEGER NOT NULL,
  ended_seq  INTEGER,
  PRIMARY KEY (node_id, label_id, added_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_tag_by_label ON node_tag (label_id, node_id);

CREATE TABLE node_aspect (
  node_id    INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  label_id   INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  added_seq  INTEGER NOT NULL,
  ended_seq  INTEGER,
  PRIMARY KEY (node_id, label_id, added_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX node_aspect_by_label ON node_aspect (label_id);

CREATE TABLE node_facet (
  node_id    INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  name_id    INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  value_id   INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  added_seq  INTEGER NOT NULL,
  ended_seq  INTEGER,
  PRIMARY KEY (node_id, name_id, value_id, added_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_facet_by_value ON node_facet (value_id);
CREATE INDEX node_facet_by_name ON node_facet (name_id);

-- Whom or what thoughts are about: a reference (ideally a pseudonym) and the scope its consent reaches.
CREATE TABLE subject (
  id                INTEGER PRIMARY KEY,
  label_id          INTEGER NOT NULL UNIQUE REFERENCES label (id) ON DELETE RESTRICT,
  consent_scope_id  INTEGER REFERENCES scope (id) ON DELETE RESTRICT,
  added_seq         INTEGER NOT NULL
) STRICT;
CREATE TABLE subject_alias (
  subject_id  INTEGER NOT NULL REFERENCES subject (id) ON DELETE RESTRICT,
  label_id    INTEGER NOT NULL REFERENCES label (id) ON DELETE RESTRICT,
  added_seq   INTEGER NOT NULL,
  ended_seq   INTEGER,
  PRIMARY KEY (subject_id, label_id, added_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX subject_alias_by_label ON subject_alias (label_id);
CREATE TABLE node_subject (
  node_id     INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  subject_id  INTEGER NOT NULL REFERENCES subject (id) ON DELETE RESTRICT,
  added_seq   INTEGER NOT NULL,
  ended_seq   INTEGER,
  PRIMARY KEY (node_id, subject_id, added_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_subject_by_subject ON node_subject (subject_id, node_id);

-- The words a person gave for an event (why something was forgotten, recalled, rejected).
CREATE TABLE reason (
  event_seq   INTEGER PRIMARY KEY,
  content_id  INTEGER NOT NULL REFERENCES content (id) ON DELETE RESTRICT
) STRICT;

-- Secrets of other brains whose tombstones were taken over; their digests are keyed under these.
CREATE TABLE foreign_secret (
  id      INTEGER PRIMARY KEY,
  secret  BLOB NOT NULL UNIQUE CHECK (length(secret) = 32)
) STRICT;

-- A value that must not come back: a keyed digest without words. Lifted by a person only.
CREATE TABLE tombstone (
  id          INTEGER PRIMARY KEY,
  scope_id    INTEGER NOT NULL REFERENCES scope (id) ON DELETE RESTRICT,
  value_key   BLOB    NOT NULL CHECK (length(value_key) = 16),
  secret_id   INTEGER REFERENCES foreign_secret (id) ON DELETE RESTRICT, -- NULL: the brain's own
  added_seq   INTEGER NOT NULL,
  lifted_seq  INTEGER
) STRICT;
CREATE INDEX tombstone_by_secret ON tombstone (secret_id) WHERE secret_id IS NOT NULL;
CREATE UNIQUE INDEX tombstone_by_value ON tombstone (scope_id, value_key) WHERE lifted_seq IS NULL;

-- Arrivals a tombstone turned away, counted by the source they came from.
CREATE TABLE refusal (
  tombstone_id  INTEGER NOT NULL REFERENCES tombstone (id) ON DELETE RESTRICT,
  source_id     INTEGER NOT NULL REFERENCES source (node_id) ON DELETE RESTRICT,
  count         INTEGER NOT NULL,
  last_at       INTEGER NOT NULL,
  PRIMARY KEY (tombstone_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX refusal_by_source ON refusal (source_id);

-- What a recall or its undo changed: delta varints of node ids. Readers obey from its commit on; materialised
-- by cursor. undone_seq: the event that undid it; while NULL, a recall is in force.
CREATE TABLE recall_effect (
  event_seq     INTEGER PRIMARY KEY,
  removed       BLOB    NOT NULL,
  restored      BLOB    NOT NULL,
  undone_seq    INTEGER,
  materialised  INTEGER NOT NULL DEFAULT 0 CHECK (materialised IN (0, 1))
) STRICT;

-- Named erasures still to be finished after a crash.
CREATE TABLE erase_pending (
  node_id    INTEGER PRIMARY KEY REFERENCES node (id) ON DELETE RESTRICT,
  event_seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Operational, not covered by the ledger -------------------------------------------------------------

-- Days on which a node was read, at most one row a node a day.
CREATE TABLE access_day (
  node_id  INTEGER NOT NULL REFERENCES node (id) ON DELETE RESTRICT,
  day      INTEGER NOT NULL,
  PRIMARY KEY (node_id, day)
) STRICT, WITHOUT ROWID;

-- How far each file was read. state: the reader's own, ids and numbers only.
CREATE TABLE extract_cursor (
  file_digest  BLOB    PRIMARY KEY CHECK (length(file_digest) = 16),
  size         INTEGER NOT NULL,
  mtime_ms     INTEGER NOT NULL,
  head_bytes   INTEGER NOT NULL,
  head_digest  BLOB    NOT NULL,
  offset       INTEGER NOT NULL,
  line         INTEGER NOT NULL,
  state        TEXT    NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Where a bounded pass goes on next time.
CREATE TABLE cursor (
  name        TEXT    PRIMARY KEY,
  position    INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Numbers a pass computed about this brain (calibration, thresholds).
CREATE TABLE gauge (
  name        TEXT    PRIMARY KEY,
  value       REAL    NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
  name          TEXT    PRIMARY KEY,
  holder        TEXT    NOT NULL,
  pid           INTEGER NOT NULL,
  acquired_at   INTEGER NOT NULL,
  heartbeat_at  INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  cycle    INTEGER NOT NULL,
  name     TEXT    NOT NULL,
  value    REAL    NOT NULL
) STRICT;
CREATE INDEX metric_by_name ON metric (name, at);

-- Derived: `dormouse doctor --rebuild` can remake all of it -------------------------------------------

-- One vector table per model, made at run time and never renamed.
CREATE TABLE embedding_model (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,                    -- never reused: it names the table
  name        TEXT    NOT NULL,
  revision    TEXT    NOT NULL,
  dimensions  INTEGER NOT NULL,
  distance    TEXT    NOT NULL CHECK (distance = 'l2'),
  runtime     TEXT    NOT NULL,
  vec_table   TEXT    NOT NULL UNIQUE,
  active      INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at  INTEGER NOT NULL,
  UNIQUE (name, revision, dimensions)
) STRICT;
CREATE UNIQUE INDEX embedding_model_active ON embedding_model (active) WHERE active = 1;

-- Analysed terms only (analysis is ours). The tokenizer splits on spaces and nothing else.
CREATE VIRTUAL TABLE full_text USING fts5 (
  terms,
  content = '',
  contentless_delete = 1,
  detail = 'none',
  tokenize = "ascii tokenchars '_-./:@+#\'"
);

-- Per node the term ids (32-bit hashes) with their counts, so that candidates are scored without
-- stemming them again. Packed as src/store/full-text.ts says.
CREATE TABLE forward_index (
  node_id  INTEGER PRIMARY KEY REFERENCES node (id) ON DELETE RESTRICT,
  terms    BLOB NOT NULL
) STRICT;

-- Document frequency by term id.
CREATE TABLE term_frequency (
  term_id   INTEGER PRIMARY KEY,
  document_count  INTEGER NOT NULL
) STRICT;

-- One row: totals that BM25 needs, and the analyser that made them.
CREATE TABLE full_text_state (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  analyser    TEXT    NOT NULL,
  documents   INTEGER NOT NULL,
  terms       INTEGER NOT NULL
) STRICT;

-- The aliveness graph as it stood at an event, for recall (issue C builds it lazily).
CREATE TABLE graph_snapshot (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  event_seq  INTEGER NOT NULL,
  body       BLOB    NOT NULL
) STRICT;
