/**
 * The native log of Squid, and the two forms of Bloomery's own access log, so that the operator of
 * a cache can simulate what its clients did yesterday.
 *
 *     1700000000.123    45 192.0.2.1 TCP_MISS/200 2326 GET http://example.com/a.gif - HIER_DIRECT/…
 *     2026-01-01T00:00:00.000Z 192.0.2.1 GET http://example.com/a.gif 200 hit fresh 2326 …
 *     {"at":"2026-01-01T00:00:00.000Z","client":"192.0.2.1","method":"GET","url":…}
 *
 * Bloomery's logs leave out the values of queries (node/log/log-privacy.ts), so objects that differ
 * only there are counted as one, and the simulated hit ratio is too high for them.
 */

import { type LineParser, type LoggedAnswer, type LogRules, requestOf } from './trace-line.ts';

const SQUID = /^(\d+\.\d+) +-?\d+ (\S+) [A-Z_]+\/(\d{3}) (\d+) (\S+) (\S+) /;

export function squidLog(rules: LogRules): LineParser {
  return (line) => {
    const match = SQUID.exec(line);
    if (match === null) return null;
    const [, seconds, client, status, bytes, method, url] = match;
    return requestOf(
      {
        timeMs: Number(seconds) * 1000,
        client,
        method,
        url,
        status: Number(status),
        bytes: Number(bytes),
      },
      rules,
    );
  };
}

const NODE = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (\S+) (\S+) (\S+) (\d{3}) \S+ \S+ (\d+) /;

export function nodeLog(rules: LogRules): LineParser {
  return (line) => {
    const match = NODE.exec(line);
    if (match === null) return null;
    const [, at, client, method, url, status, bytes] = match;
    return requestOf(
      { timeMs: Date.parse(at), client, method, url, status: Number(status), bytes: Number(bytes) },
      rules,
    );
  };
}

export function nodeJsonLog(rules: LogRules): LineParser {
  return (line) => {
    const answer = answerOf(line);
    return answer === null ? null : requestOf(answer, rules);
  };
}

/** The answer in a line of JSON, or null if the line is no such object. */
function answerOf(line: string): LoggedAnswer | null {
  if (!line.startsWith('{')) return null;
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const { at, client, method, url, status, bytesOut } = value;
  if (typeof at !== 'string' || typeof url !== 'string' || typeof method !== 'string') return null;
  if (typeof client !== 'string' || typeof status !== 'number' || typeof bytesOut !== 'number') return null;
  return { timeMs: Date.parse(at), client, method, url, status, bytes: bytesOut };
}
