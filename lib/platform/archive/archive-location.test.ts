import { describe, expect, test } from "vitest";
import { ArchiveLocationError, parseArchiveLocation } from "./archive-location.pure";

describe("where the archive is", () => {
  test.each([
    ["file:///srv/archive", "/srv/archive"],
    ["file:///srv/archive/", "/srv/archive"],
    ["file://localhost/srv/archive", "/srv/archive"],
    ["file:///srv/a%20b%3F%23", "/srv/a b?#"],
    ["file:///srv/x/../archive", "/srv/archive"],
    ["file:///C:/archive", "C:/archive"],
  ])("%s is a folder", (text, path) => {
    expect(parseArchiveLocation(text)).toEqual({ kind: "folder", path });
  });

  test("a bucket of AWS has a region or that of the environment, and no endpoint", () => {
    expect(parseArchiveLocation("s3://my.bucket-7/a/b%20c/?region=eu-north-1")).toEqual({
      ...{ kind: "s3", bucket: "my.bucket-7", prefix: "a/b c", region: "eu-north-1", endpoint: null, pathStyle: false },
    });
    expect(parseArchiveLocation("s3://bucket")).toMatchObject({ prefix: "", region: null });
  });

  test("a bucket of another server has its endpoint, the path style and a region, unless they are given", () => {
    const at = "s3://bucket/p?endpoint=https://s3.example.com:9000";
    expect(parseArchiveLocation(at)).toMatchObject({
      ...{ endpoint: "https://s3.example.com:9000", region: "us-east-1", pathStyle: true },
    });
    expect(parseArchiveLocation(`${at}/&region=fsn1&pathStyle=false`)).toMatchObject({
      ...{ endpoint: "https://s3.example.com:9000", region: "fsn1", pathStyle: false },
    });
  });

  test.each([
    ["/srv/archive", /must look like file:\/\/\/.* or s3:\/\//],
    ["", /must look like/],
    ["gs://bucket", /must look like/],
    ["file://srv/archive", /three slashes/],
    ["file:///", /below the root/],
    ["file:///srv/a?b", /%3F/],
    ["file:///srv/a#b", /%23/],
    ["file:///srv/100%", /%25/],
    ["file:///srv/a%2f..%2fb", /, \.\. or/],
    ["file:///srv/a%00b", /control characters/],
    ["s3://hunter2:secret@bucket/p", /PARKADE_SECRET_ARCHIVE_KEY/],
    ["s3:///prefix", /must name a bucket/],
    ["s3://no", /must name a bucket/],
    ["s3://bucket:9000/p", /must name a bucket/],
    ["s3://bucket?regoin=eu", /no parameters but region, endpoint, pathStyle/],
    ["s3://bucket?region=EU Central", /region=eu-central-1/],
    ["s3://bucket?endpoint=s3.example.com", /endpoint=https:/],
    ["s3://bucket?endpoint=https://hunter2:secret@s3.example.com", /endpoint=https:/],
    ["s3://bucket?endpoint=https://s3.example.com/path", /nothing after the host/],
    ["s3://bucket?pathStyle=yes", /pathStyle=true or pathStyle=false/],
  ])("%s is refused with the fix, and no secret", (text, message) => {
    const parse = () => parseArchiveLocation(text);
    expect(parse).toThrow(ArchiveLocationError);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/^PARKADE_ARCHIVE must/);
    expect(parse).not.toThrow(/hunter2/);
  });
});
