/**
 * Faults of an origin, and what a client must see of them: an error in the node's own words
 * (`refused`, with its status and the error type of RFC 9209), an answer that is cut off (`cut`),
 * or either, since it depends on what was sent already.
 */

import { CHUNKED, type Fault, flood, OK, repeat, say } from '@bloomery/testkit/origins/raw-origin';

export type Want = 'refused' | 'cut' | 'either' | 'whole';

type Row = readonly [name: string, fault: Fault, want: Want, status?: number, detail?: string];

export const FAULTS: readonly Row[] = [
  ['accepts and says nothing', () => {}, 'refused', 504, 'http_response_timeout'],
  [
    'sends its head too slowly',
    repeat('HTTP/1.1 200 OK\r\n', 'A: b\r\n', 100),
    'refused',
    504,
    'http_response_timeout',
  ],
  ['closes before the head', (socket) => socket.end(), 'refused', 502, 'connection_terminated'],
  ['resets before the head', (socket) => socket.resetAndDestroy(), 'refused', 502, 'connection_terminated'],
  ['closes in the head', say('HTTP/1.1 200 OK\r\nCache-Con'), 'refused', 502, 'http_response_incomplete'],
  [
    'resets in the head',
    say('HTTP/1.1 200 OK\r\nCache-Con', 'reset'),
    'refused',
    502,
    'http_response_incomplete',
  ],
  ['has no status line', say('Hello\r\n\r\n'), 'refused', 502, 'http_protocol_error'],
  ['answers as HTTP/0.9', say('<html>hello</html>'), 'refused', 502, 'http_protocol_error'],
  ['has a status of two digits', say('HTTP/1.1 20 OK\r\n\r\n'), 'refused', 502, 'http_protocol_error'],
  ['has a status that does not exist', say('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'), 'refused', 502],
  [
    'has a version that does not exist',
    say('HTTP/7.3 200 OK\r\nContent-Length: 0\r\n\r\n'),
    'refused',
    502,
    'http_protocol_error',
  ],
  [
    'sends random bytes',
    say(Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 167 + 13) & 255))),
    'refused',
    502,
    'http_protocol_error',
  ],
  [
    'never ends its head',
    flood(OK, 'X-More: of the same\r\n'),
    'refused',
    502,
    'http_response_header_section_size',
  ],
  [
    'has one huge field',
    say(`${OK}X-Huge: ${'a'.repeat(20_000)}\r\n\r\n`),
    'refused',
    502,
    'http_response_header_section_size',
  ],
  [
    'has a field without a colon',
    say(`${OK}no colon here\r\nContent-Length: 2\r\n\r\nab`),
    'refused',
    502,
    'http_protocol_error',
  ],
  [
    'has two lengths',
    say(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`),
    'refused',
    502,
    'http_protocol_error',
  ],
  ['has a negative length', say(`${OK}Content-Length: -2\r\n\r\nab`), 'refused', 502, 'http_protocol_error'],
  [
    'has a length and chunks',
    say(`${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    'refused',
    502,
    'http_protocol_error',
  ],
  [
    'has an encoding that nobody asked for',
    say(`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
    'refused',
    502,
  ],
  [
    'sends early hints for ever',
    repeat('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 50),
    'refused',
    502,
    'http_protocol_error',
  ],
  ['sends a storm of early hints', flood('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), 'refused'],
  ['closes in the body', say(`${OK}Content-Length: 10\r\n\r\nabc`), 'either'],
  ['resets in the body', say(`${OK}Content-Length: 10\r\n\r\nabc`, 'reset'), 'cut'],
  ['resets a body without a length', say(`${OK}\r\nabc`, 'reset'), 'cut'],
  ['stops in the body', say(`${OK}Content-Length: 10\r\n\r\nabc`, 'stay'), 'cut'],
  ['breaks off its chunks', say(`${CHUNKED}3\r\nabc\r\n`), 'either'],
  ['stops in its chunks', say(`${CHUNKED}3\r\nabc\r\n`, 'stay'), 'cut'],
  ['has a bad chunk', say(`${CHUNKED}3\r\nabc\r\nzzz\r\nabc\r\n0\r\n\r\n`, 'stay'), 'either'],
  ['has a chunk longer than it says', say(`${CHUNKED}3\r\nabcdef\r\n0\r\n\r\n`, 'stay'), 'either'],
  ['has a chunk of absurd size', say(`${CHUNKED}fffffffffffffffff\r\nabc\r\n0\r\n\r\n`, 'stay'), 'either'],
  ['sends a body without end', flood(CHUNKED, `1000\r\n${'x'.repeat(4096)}\r\n`), 'cut'],
  [
    'announces more than is allowed',
    flood(`${OK}Content-Length: 99999999999\r\n\r\n`, 'x'.repeat(4096)),
    'either',
  ],
];
