/**
 * The common log format and its relatives: the combined format of Apache and nginx, which adds two
 * quoted fields that are not needed here, and Apache's vhost_combined, which puts `host:port`
 * first.
 *
 *     192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "referer" "agent"
 *
 * The request line may contain escaped quotes and, in old logs, spaces inside the target. Its first
 * word is the method, and a protocol at its end is dropped. With virtual hosts, the host is part of
 * the object's name, because two sites may have the same path.
 */

import { type LineParser, type LogRules, requestOf } from './trace-line.ts';

const LINE =
  /^(\S+ \S+ \S.*?) \[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] "((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)(?: |$)/;
const REQUEST = /^(\S+)(?: (.*?))?(?: HTTP\/\d+(?:\.\d+)?)?$/;
/**
 * A fourth name in front of client, identity and user. The number of names counts, because a client
 * with an IPv6 address looks like `host:port` as well.
 */
const VIRTUAL_HOST = /^(\S+:\d+) \S+ \S+ \S/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function commonLog(rules: LogRules): LineParser {
  return (line) => {
    const match = LINE.exec(line);
    if (match === null) return null;
    const [, names, day, monthName, year, hour, minute, second, sign, zoneHours, zoneMinutes] = match;
    const request = REQUEST.exec(match[11]);
    const month = MONTHS.indexOf(monthName);
    if (request === null || month < 0) return null;
    const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === '-' ? -60_000 : 60_000);
    const host = VIRTUAL_HOST.exec(names);
    return requestOf(
      {
        timeMs:
          Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute), Number(second)) - zoneMs,
        client: (host === null ? names : names.slice(host[1].length + 1)).split(' ', 1)[0],
        method: request[1],
        url: `${host === null ? '' : host[1]}${request[2] ?? ''}`,
        status: Number(match[12]),
        bytes: match[13] === '-' ? 0 : Number(match[13]),
      },
      rules,
    );
  };
}
