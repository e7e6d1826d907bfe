/**
 * Raw requests, byte by byte. `AMBIGUOUS`: two readers could disagree about them, or they try to
 * reach what they should not; each must be refused, the connection closed, and nothing of it may
 * come to the origin as a whole request. `LEGAL`: odd, but right by the RFCs or harmless on the
 * real web; each must be answered with 200.
 *
 * `{origin}` stands for host:port of the origin. The test adds a second request, for `/smuggled`,
 * behind each ambiguous one. Strings are Latin-1: one character, one byte. A case in which only the
 * body is wrong (`body: true`) may have its head forwarded before that is known, but never its end.
 */

export interface RawCase {
  readonly name: string;
  readonly bytes: string;
  readonly body?: boolean;
}

const host = 'Host: {origin}\r\n';

const get = (name: string, target: string, fields = ''): RawCase => ({
  name,
  bytes: `GET ${target} HTTP/1.1\r\n${host}${fields}\r\n`,
});

const post = (name: string, fields: string, body = ''): RawCase => ({
  name,
  bytes: `POST /post HTTP/1.1\r\n${host}${fields}\r\n${body}`,
});

const chunked = (name: string, body: string): RawCase => ({
  name: `chunks: ${name}`,
  bytes: `POST /chunks HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${body}`,
  body: true,
});

const raw = (name: string, bytes: string): RawCase => ({ name, bytes });

const empty = '0\r\n\r\n';
const te = (value: string) => `Transfer-Encoding: ${value}\r\n`;
const cl = (value: string) => `Content-Length: ${value}\r\n`;

export const AMBIGUOUS: readonly RawCase[] = [
  // Length given twice.
  post('two equal lengths', cl('3') + cl('3'), 'abc'),
  post('two different lengths', cl('3') + cl('0'), 'abc'),
  post('two different lengths, small first', cl('0') + cl('3'), 'abc'),
  post('three lengths', cl('3') + cl('3') + cl('3'), 'abc'),
  post('two lengths in different case', `${cl('3')}content-length: 4\r\n`, 'abc'),
  post('a list of equal lengths', cl('3, 3'), 'abc'),
  post('a list of different lengths', cl('3, 0'), 'abc'),
  post('length and chunked', cl('5') + te('chunked'), empty),
  post('chunked and length', te('chunked') + cl('5'), empty),
  post('length 0 and chunked', cl('0') + te('chunked'), empty),
  post('length and identity', cl('3') + te('identity'), 'abc'),
  post('length and a coding nobody knows', cl('3') + te('xchunked'), 'abc'),
  // Lengths that are no numbers.
  post('length with a sign', cl('+3'), 'abc'),
  post('negative length', cl('-1')),
  post('hexadecimal length', cl('0x3'), 'abc'),
  post('length with a fraction', cl('3.0'), 'abc'),
  post('length with an exponent', cl('3e0'), 'abc'),
  post('length with a space inside', cl('1 2'), 'abc'),
  post('length with a separator', cl('1_0'), 'abc'),
  post('quoted length', cl('"3"'), 'abc'),
  post('empty length', cl('')),
  post('length in words', cl('three'), 'abc'),
  post('length above 2^64', cl('18446744073709551619'), 'abc'),
  post('length above 2^63', cl('9223372036854775811'), 'abc'),
  post('length above the limit', cl('1099511627777'), 'abc'),
  post('length with a vertical tab', cl('3\x0b'), 'abc'),
  // Transfer-Encoding.
  post('gzip, chunked', te('gzip, chunked'), empty),
  post('identity, chunked', te('identity, chunked'), empty),
  post('chunked, identity', te('chunked, identity'), empty),
  post('chunked, chunked', te('chunked, chunked'), empty),
  post('chunked twice in two fields', te('chunked') + te('chunked'), empty),
  post('chunked and identity in two fields', te('chunked') + te('identity'), empty),
  post('identity and chunked in two fields', te('identity') + te('chunked'), empty),
  post('identity alone', te('identity')),
  post('gzip alone', te('gzip')),
  post('xchunked', te('xchunked'), empty),
  post('chunked with a parameter', te('chunked;q=1'), empty),
  post('quoted chunked', te('"chunked"'), empty),
  post('empty coding', te('')),
  post('comma before chunked', te(',chunked'), empty),
  post('comma after chunked', te('chunked,'), empty),
  post('chunked with a vertical tab', te('chunked\x0b'), empty),
  post('chunked with a form feed before', te('\x0cchunked'), empty),
  post('chunked with NUL', te('chunked\x00'), empty),
  post('chunked with a byte above ASCII', te('\xa0chunked'), empty),
  post('chunked folded', 'Transfer-Encoding:\r\n chunked\r\n', empty),
  post('chunked behind a bare LF', 'X: y\nTransfer-Encoding: chunked\r\n', empty),
  post('chunked behind a bare CR', 'X: y\rTransfer-Encoding: chunked\r\n', empty),
  post('space before the colon of Transfer-Encoding', 'Transfer-Encoding : chunked\r\n', empty),
  post('tab before the colon of Transfer-Encoding', 'Transfer-Encoding\t: chunked\r\n', empty),
  post('space before Transfer-Encoding', ' Transfer-Encoding: chunked\r\n', empty),
  post('Transfer_Encoding', 'Transfer_Encoding: chunked\r\n'),
  post('Content_Length', 'Content_Length: 3\r\n'),
  post('space before the colon of Content-Length', 'Content-Length : 3\r\n', 'abc'),
  raw('HTTP/1.0 with chunked', `POST /old HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n${empty}`),
  // Lines.
  get('obs-fold', '/', 'X: a\r\n b\r\n'),
  get('obs-fold with a tab', '/', 'X: a\r\n\tb\r\n'),
  raw('obs-fold of the request line', `GET / HTTP/1.1\r\n ${host}\r\n`),
  raw('all bare LF', 'GET / HTTP/1.1\nHost: {origin}\n\n'),
  raw('bare LF after the request line', `GET / HTTP/1.1\n${host}\r\n`),
  get('bare LF after a field', '/', 'X: a\nY: b\r\n'),
  get('bare CR in a value', '/', 'X: a\rY: b\r\n'),
  raw('CR CR LF', `GET / HTTP/1.1\r\r\n${host}\r\n`),
  raw('head ended by a bare LF', 'GET / HTTP/1.1\r\nHost: {origin}\r\n\n'),
  get('NUL in a value', '/', 'X: a\x00b\r\n'),
  get('control byte in a value', '/', 'X: a\x01b\r\n'),
  get('DEL in a value', '/', 'X: a\x7fb\r\n'),
  get('NUL in a name', '/', 'X\x00: a\r\n'),
  get('byte above ASCII in a name', '/', 'X\xe9: a\r\n'),
  get('empty name', '/', ': a\r\n'),
  get('no colon', '/', 'X\r\n'),
  get('space in a name', '/', 'X Y: a\r\n'),
  get('parentheses in a name', '/', 'X(y): a\r\n'),
  // Host.
  get('two hosts', '/', 'Host: evil.example\r\n'),
  get('two equal hosts', '/', 'Host: {origin}\r\n'),
  raw('no host', 'GET / HTTP/1.1\r\nX: y\r\n\r\n'),
  raw('empty host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'),
  raw('a list of hosts', 'GET / HTTP/1.1\r\nHost: {origin}, evil.example\r\n\r\n'),
  raw('host with a user', 'GET / HTTP/1.1\r\nHost: user@{origin}\r\n\r\n'),
  raw('host with a path', 'GET / HTTP/1.1\r\nHost: {origin}/path\r\n\r\n'),
  raw('host with a scheme', 'GET / HTTP/1.1\r\nHost: http://{origin}\r\n\r\n'),
  raw('host with a space', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n'),
  raw('host with a wrong port', 'GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n'),
  raw('host with port zero', 'GET / HTTP/1.1\r\nHost: a:0\r\n\r\n'),
  raw('host with two ports', 'GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n'),
  raw('host with a percent escape', 'GET / HTTP/1.1\r\nHost: %6cocalhost\r\n\r\n'),
  raw('host above ASCII', 'GET / HTTP/1.1\r\nHost: \xe9.example\r\n\r\n'),
  raw('host that is nearly an address', 'GET / HTTP/1.1\r\nHost: 1.2.3.4.5\r\n\r\n'),
  raw('host with an open bracket', 'GET / HTTP/1.1\r\nHost: [::1\r\n\r\n'),
  raw('host with a zone', 'GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n'),
  raw('host with two dots', 'GET / HTTP/1.1\r\nHost: a..example\r\n\r\n'),
  // Targets.
  get('fragment', '/a#b'),
  get('backslash in the path', '/a\\b'),
  get('path that begins with a backslash', '\\a'),
  get('slash and backslash', '/\\evil.example/'),
  get('control byte in the path', '/a\x01'),
  get('byte above ASCII in the path', '/\xe9'),
  get('NUL in the path', '/a\x00'),
  get('DEL in the path', '/a\x7f'),
  get('tab in the path', '/a\tb'),
  get('space in the path', '/a b'),
  get('asterisk for GET', '*'),
  get('no slash', 'a'),
  get('only a query', '?a'),
  get('user in the URL', 'http://user@{origin}/'),
  get('user and password in the URL', 'http://{origin}:80@evil.example/'),
  get('backslash in the host', 'http://{origin}\\@evil.example/'),
  get('fragment in the URL', 'http://{origin}/#a'),
  get('no host in the URL', 'http:///a'),
  get('one slash in the URL', 'http:/{origin}/'),
  get('no slash in the URL', 'http:{origin}/'),
  get('wrong port in the URL', 'http://{origin}9999999/'),
  get('zone in the URL', 'http://[fe80::1%25lo]/'),
  get('ftp', 'ftp://{origin}/'),
  get('file', 'file:///etc/passwd'),
  get('gopher', 'gopher://{origin}/_GET'),
  get('javascript', 'javascript:alert(1)'),
  get('authority form for GET', '{origin}'),
  get('target above the limit', `/${'a'.repeat(9000)}`),
  // CONNECT.
  raw('CONNECT to a path', `CONNECT / HTTP/1.1\r\n${host}\r\n`),
  raw('CONNECT to a URL', `CONNECT http://{origin}/ HTTP/1.1\r\n${host}\r\n`),
  raw('CONNECT without a port', `CONNECT localhost HTTP/1.1\r\n${host}\r\n`),
  raw('CONNECT with an empty port', `CONNECT localhost: HTTP/1.1\r\n${host}\r\n`),
  raw('CONNECT with a user', `CONNECT user@{origin} HTTP/1.1\r\n${host}\r\n`),
  raw('CONNECT with a path behind', `CONNECT {origin}/x HTTP/1.1\r\n${host}\r\n`),
  raw('CONNECT without Host', 'CONNECT {origin} HTTP/1.1\r\n\r\n'),
  raw('CONNECT with a body', `CONNECT {origin} HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabc`),
  raw(
    'CONNECT with chunks',
    `CONNECT {origin} HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${empty}`,
  ),
  // Versions and methods.
  raw('HTTP/0.9 without a version', 'GET /\r\n'),
  raw('HTTP/0.9 by name', `GET / HTTP/0.9\r\n${host}\r\n`),
  raw('HTTP/1.2', `GET / HTTP/1.2\r\n${host}\r\n`),
  raw('HTTP/2.0', `GET / HTTP/2.0\r\n${host}\r\n`),
  raw('HTTP/1.10', `GET / HTTP/1.10\r\n${host}\r\n`),
  raw('HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  raw('lower-case protocol', `GET / http/1.1\r\n${host}\r\n`),
  raw('space after the version', `GET / HTTP/1.1 \r\n${host}\r\n`),
  raw('lower-case method', `get / HTTP/1.1\r\n${host}\r\n`),
  raw('method with a bracket', `G<T / HTTP/1.1\r\n${host}\r\n`),
  raw('method of RTSP', `DESCRIBE / RTSP/1.0\r\n${host}\r\n`),
  raw('method of ICE', `SOURCE / ICE/1.0\r\n${host}\r\n`),
  raw('tabs in the request line', `GET\t/\tHTTP/1.1\r\n${host}\r\n`),
  raw('space before the method', ` GET / HTTP/1.1\r\n${host}\r\n`),
  raw('TRACE with a body', `TRACE / HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabc`),
  raw('TLS to a plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
  // Hop-by-hop abuse and expectations.
  get('Connection names Host', '/', 'Connection: Host\r\n'),
  get('Connection names Cache-Control', '/', 'Connection: close, Cache-Control\r\n'),
  get('Connection names Authorization', '/', 'Authorization: Basic YTpi\r\nConnection: authorization\r\n'),
  get('Connection names Cookie', '/', 'Connection: keep-alive,COOKIE\r\n'),
  get('Connection names X-Forwarded-For', '/', 'Connection: X-Forwarded-For\r\n'),
  post('Connection names Content-Length', `${cl('3')}Connection: Content-Length\r\n`, 'abc'),
  post('Connection names Transfer-Encoding', `${te('chunked')}Connection: transfer-encoding\r\n`, empty),
  get('Connection with something else', '/', 'Connection: a b\r\n'),
  post('expectation nobody knows', `${cl('3')}Expect: 200-ok\r\n`, 'abc'),
  post('two expectations', `${cl('3')}Expect: 100-continue, x\r\n`, 'abc'),
  post('empty expectation', `${cl('3')}Expect:\r\n`, 'abc'),
  post('expected, and too large', `${cl('1099511627777')}Expect: 100-continue\r\n`),
  // Sizes.
  get('too many fields', '/', 'a: b\r\n'.repeat(200)),
  get('far too many fields', '/', 'a: b\r\n'.repeat(2500)),
  get('a field above the limit', '/', `a: ${'b'.repeat(33_000)}\r\n`),
  get('a field far above the limit', '/', `a: ${'b'.repeat(50_000)}\r\n`),
  // Chunks: known only while the body comes.
  chunked('bare LF', '3\nabc\n0\n\n'),
  chunked('bare LF after data', '3\r\nabc\n0\r\n\r\n'),
  chunked('bare CR after a size', '3\r\rabc\r\n0\r\n\r\n'),
  chunked('0x before a size', '0x3\r\nabc\r\n0\r\n\r\n'),
  chunked('negative size', '-3\r\nabc\r\n0\r\n\r\n'),
  chunked('size with a plus', '+3\r\nabc\r\n0\r\n\r\n'),
  chunked('size with a space before', ' 3\r\nabc\r\n0\r\n\r\n'),
  chunked('size with a space after', '3 \r\nabc\r\n0\r\n\r\n'),
  chunked('size with an underscore', '3_\r\nabc\r\n0\r\n\r\n'),
  chunked('size above 2^64', '10000000000000003\r\nabc\r\n0\r\n\r\n'),
  chunked('no size', '\r\n\r\n'),
  chunked('more data than said', '3\r\nabcd\r\n0\r\n\r\n'),
  chunked('no line end after data', '3\r\nabc0\r\n\r\n'),
  chunked('bare LF in an extension', '3;a\nabc\r\n0\r\n\r\n'),
  chunked('bare CR in an extension', '3;a\rb\r\nabc\r\n0\r\n\r\n'),
  chunked('control byte in an extension', '3;a=\x01\r\nabc\r\n0\r\n\r\n'),
  chunked('extensions without end', `3;${'a'.repeat(40_000)}\r\nabc\r\n0\r\n\r\n`),
  chunked('Content-Length as a trailer', '3\r\nabc\r\n0\r\nContent-Length: 4\r\n\r\n'),
  chunked('Transfer-Encoding as a trailer', '3\r\nabc\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n'),
  chunked('obs-fold in a trailer', '3\r\nabc\r\n0\r\nX: a\r\n b\r\n\r\n'),
  chunked('bare LF in a trailer', '3\r\nabc\r\n0\r\nX: a\n\r\n'),
];

const ok = (name: string, bytes: string): RawCase => ({ name, bytes });
const okGet = (name: string, target: string, fields = ''): RawCase =>
  ok(name, `GET ${target} HTTP/1.1\r\n${host}${fields}\r\n`);
const okPost = (name: string, fields: string, body: string): RawCase =>
  ok(name, `POST /post HTTP/1.1\r\n${host}${fields}\r\n${body}`);

export const LEGAL: readonly RawCase[] = [
  okGet('the plainest', '/'),
  ok('CRLF before the request line (RFC 9112, 2.2)', `\r\n\r\nGET / HTTP/1.1\r\n${host}\r\n`),
  ok('HTTP/1.0 with Host', `GET /old HTTP/1.0\r\n${host}\r\n`),
  ok('HTTP/1.0 with a body', `POST /old HTTP/1.0\r\n${host}Content-Length: 3\r\n\r\nabc`),
  ok('names in odd case', 'GET / HTTP/1.1\r\nhOsT: {origin}\r\nx-ODD: y\r\n\r\n'),
  ok('no space after the colon', 'GET / HTTP/1.1\r\nHost:{origin}\r\n\r\n'),
  ok('spaces around a value', 'GET / HTTP/1.1\r\nHost: \t {origin} \t \r\n\r\n'),
  okGet('empty value', '/', 'X:\r\n'),
  okGet('obs-text in a value', '/', 'X: caf\xe9\r\n'),
  okGet('every character of a name', '/', "!#$%&'*+-.^_`|~0aA: y\r\n"),
  okGet('repeated fields', '/', 'Accept: a/b\r\nAccept: c/d\r\nX: 1\r\nX: 2\r\n'),
  okGet('100 fields', '/', 'a: b\r\n'.repeat(100)),
  okGet('a large cookie', '/', `Cookie: a=${'b'.repeat(15_000)}\r\n`),
  okGet('a long path', `/${'a'.repeat(8000)}`),
  okGet('empty segments', '/a//b///'),
  okGet('a path that looks like a host', '//evil.example/'),
  okGet('dot segments', '/a/../b/./c'),
  okGet('percent escapes', '/%41%2f%00%ff'),
  okGet('a lone percent sign', '/100%?a=%'),
  okGet('characters browsers leave alone', `/a?q="<>^\`{|}[]'`),
  okGet('backslash in the query', '/a?q=b\\c'),
  okGet('at sign and colon in the path', '/user@host:80/'),
  okGet('a URL in the query', '/a?url=http://user@evil.example/%23'),
  okGet(
    'Connection with options',
    '/',
    'Connection: keep-alive, X-Mine, ,TE\r\nX-Mine: 1\r\nTE: trailers\r\n',
  ),
  okGet('Upgrade that nobody takes', '/', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'),
  okGet('Content-Length 0 on GET', '/', 'Content-Length: 0\r\n'),
  ok('a body on GET', `GET /fat HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabc`),
  ok('OPTIONS *', `OPTIONS * HTTP/1.1\r\n${host}\r\n`),
  ok('a method of WebDAV', `PROPFIND /dav HTTP/1.1\r\n${host}Depth: 1\r\n\r\n`),
  ok('DELETE with a body', `DELETE /x HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabc`),
  okPost('zeros before a length', 'Content-Length: 003\r\n', 'abc'),
  okPost('a length of zero', 'Content-Length: 0\r\n', ''),
  okPost('chunked in capitals', 'Transfer-Encoding: CHUNKED\r\n', '3\r\nabc\r\n0\r\n\r\n'),
  okPost('chunk sizes with zeros', 'Transfer-Encoding: chunked\r\n', '0003\r\nabc\r\n00\r\n\r\n'),
  okPost(
    'chunk sizes in both cases',
    'Transfer-Encoding: chunked\r\n',
    'a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n',
  ),
  okPost('chunk extensions', 'Transfer-Encoding: chunked\r\n', '3;a=b;c="d"\r\nabc\r\n0;e\r\n\r\n'),
  okPost('trailers', 'Transfer-Encoding: chunked\r\nTrailer: X\r\n', '3\r\nabc\r\n0\r\nX: y\r\n\r\n'),
  okPost('100-continue in capitals', 'Content-Length: 3\r\nExpect: 100-Continue\r\n', 'abc'),
];

/**
 * In absolute form: for a server that is a forward proxy, or takes them as RFC 9112, 3.2.2 asks of
 * every server.
 */
export const LEGAL_ABSOLUTE: readonly RawCase[] = [
  okGet('absolute form', 'http://{origin}/abs'),
  okGet('scheme in capitals', 'HTTP://{origin}/abs'),
  okGet('no path', 'http://{origin}'),
  okGet('a query without a path', 'http://{origin}?q'),
  ok(
    'Host differs: the target wins (3.2.2)',
    'GET http://{origin}/abs HTTP/1.1\r\nHost: other.example\r\n\r\n',
  ),
  ok('Host is empty', 'GET http://{origin}/abs HTTP/1.1\r\nHost:\r\n\r\n'),
];
