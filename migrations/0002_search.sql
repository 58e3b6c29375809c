-- Cells of the vector index, derived. A vector's row names its cell in its table's partition key; cell 0 holds
-- what is fresh and has no row here. Centroids never change, and ids are never reused, so that a reader who
-- knows the highest id knows all of a model's cells.
CREATE TABLE vector_cell (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  model_id      INTEGER NOT NULL REFERENCES embedding_model (id) ON DELETE CASCADE,
  centroid      BLOB    NOT NULL,                                   -- unit int8, of the model's dimensions
  open          INTEGER NOT NULL DEFAULT 1 CHECK (open IN (0, 1)),  -- 0: being emptied into other cells
  settled_rows  INTEGER NOT NULL DEFAULT 0                          -- so many rows that no split could part
) STRICT;
CREATE INDEX vector_cell_model ON vector_cell (model_id, id);

-- What happened over more than 32 days or without an end is found here, everything else in occurrence_by_time
-- from 32 days before the interval asked for (src/store/eligible.ts), so that nobody walks the whole past.
CREATE INDEX occurrence_long ON occurrence (referent_from, referent_to, node_id)
  WHERE referent_kind > 0 AND ended_seq IS NULL
    AND (referent_from IS NULL OR referent_to IS NULL OR referent_to - referent_from > 2764800000);

-- With the role, so that counting decayed thoughts reads no row of node.
DROP INDEX node_hidden;
CREATE INDEX node_hidden ON node (decayed, role) WHERE decayed > 0;

-- Thoughts alone: with the role as a column, queries for the next thoughts by id took this index and sorted all
-- of it for each batch.
DROP INDEX node_by_recorded;
CREATE INDEX node_by_recorded ON node (recorded_at) WHERE role = 1;

-- Whether the parent is a thought (node.role, which never changes). Search follows edges between thoughts alone, and
-- the parents of a value that was met often are nearly all sources, so that it cannot afford to walk past them.
ALTER TABLE derivation ADD COLUMN parent_role INTEGER NOT NULL DEFAULT 0 CHECK (parent_role IN (0, 1));
UPDATE derivation SET parent_role = 1 WHERE parent_id IN (SELECT id FROM node WHERE role = 1);
CREATE INDEX derivation_from_thought ON derivation (child_id, parent_id) WHERE parent_role = 1;
