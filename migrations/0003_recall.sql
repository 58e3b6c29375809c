-- What a recall pins and what it brought out from behind its survivors, beside what fell (delta varints of node
-- ids, src/store/id-list.ts). pinned: the roots under the fair rule, their whole closure under the strict one.
ALTER TABLE recall_effect ADD COLUMN pinned BLOB NOT NULL DEFAULT x'';
ALTER TABLE recall_effect ADD COLUMN released BLOB NOT NULL DEFAULT x'';
-- Effects that node.recalled_by does not say yet: asked at the start of every read.
CREATE INDEX recall_pending ON recall_effect (event_seq) WHERE materialised = 0;

-- What the graph of aliveness has to learn since its snapshot: new legs have higher ids, ended ones are found here.
CREATE INDEX leg_ended ON leg (ended_seq) WHERE ended_seq IS NOT NULL;
CREATE INDEX node_stale ON node (stale_by) WHERE stale_by IS NOT NULL;

-- Links that ended, for the history of one thought; those that stand have their own indexes.
CREATE INDEX link_ended_outgoing ON link (from_id, type) WHERE ended_seq IS NOT NULL;
CREATE INDEX link_ended_incoming ON link (to_id, type) WHERE ended_seq IS NOT NULL;

-- As in 0001 but for recalled_by: a recall is one event and one effect row, replayable, however many fell.
DROP TRIGGER node_state_is_audited;
CREATE TRIGGER node_state_is_audited
BEFORE UPDATE OF decayed, belief, permanence, merged_into, erased_by, stale_by, trust, kind_id, domain_id, scope_id, due_at, valid_from, valid_to, confidence, salience ON node
WHEN EXISTS (
  SELECT 1 FROM (
    SELECT 1 AS axis, OLD.decayed AS was, NEW.decayed AS becomes
    UNION ALL SELECT 2, OLD.belief, NEW.belief
    UNION ALL SELECT 3, OLD.permanence, NEW.permanence
    UNION ALL SELECT 4, OLD.merged_into, NEW.merged_into
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

-- The column mirrors effects, so it moves only while one of them is not mirrored yet.
CREATE TRIGGER node_recall_follows_effect BEFORE UPDATE OF recalled_by ON node
WHEN NEW.recalled_by IS NOT OLD.recalled_by
  AND NOT EXISTS (SELECT 1 FROM recall_effect WHERE materialised = 0)
BEGIN SELECT RAISE(ABORT, 'recalled_by changes only while an effect is being mirrored'); END;
