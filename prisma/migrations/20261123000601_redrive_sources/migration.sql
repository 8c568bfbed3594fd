-- Names of the sources that a redrive's events may come from: known when they were named or frozen at once, else null,
-- which stands for every source. A viewer sees a redrive when all of its sources are the viewer's.
alter table redrives add column sources text[];
