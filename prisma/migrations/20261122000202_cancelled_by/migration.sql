-- Who cancelled it: the events that a cancel gives back name this person, not the one who had asked for the redrive.

alter table redrives add column cancelled_by text;
