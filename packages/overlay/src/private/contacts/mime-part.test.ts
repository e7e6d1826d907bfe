import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { fieldValues, parseHead, withFields } from './mail-head.ts';
import { attachPart, findPart, SHARE_TYPE } from './mime-part.ts';
import { senderOf } from './read-mbox.ts';

const random = new Random(281);
const PLAIN = [
  'From: Ann <ann@example.org>',
  'To: bob@example.org',
  'Subject: hi',
  '',
  'Hello',
  '--',
  'Ann',
  '',
];
const TYPED = [
  'From: ann@example.org',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  'MIME-Version: 1.0',
  '',
  'Hällo',
  '',
];
const MIXED = [
  'From: ann@example.org',
  'Content-Type: multipart/mixed;',
  '\tboundary="xx"',
  '',
  'preamble',
  '--xx',
  'Content-Type: text/plain',
  '',
  'text',
  '--xx--',
  'epilogue',
  '',
];
const ALTERNATIVE = MIXED.map((line) => line.replace('mixed', 'alternative'));

describe('attachPart and findPart', () => {
  test('a part that is longer than any filter is not decoded', () => {
    const mail = (bytes: number) =>
      [`Content-Type: ${SHARE_TYPE}`, 'Content-Transfer-Encoding: base64', '', 'AAAA'.repeat(bytes / 3)].join(
        '\n',
      );
    expect(findPart(mail(3 * 2 ** 20))).toHaveLength(3 * 2 ** 20);
    expect(findPart(mail(6 * 2 ** 20))).toBeNull();
  });

  test.each([
    ['a plain mail', PLAIN],
    ['a mail with a type', TYPED],
    ['a mail of several parts', MIXED],
    ['a mail with alternatives', ALTERNATIVE],
    ['a mail without a body', ['From: ann@example.org', '']],
  ])('%s, with both line breaks and contents of every length', (_, lines) => {
    for (const end of ['\n', '\r\n']) {
      const mail = lines.join(end);
      expect(findPart(mail)).toBeNull();
      for (const length of [0, 1, 2, 3, 57, 58, 1000]) {
        const content = random.bytes(length);
        const sent = attachPart(mail, content, 'b0undary');
        expect(findPart(sent)).toEqual(content);
        expect(senderOf(sent)).toBe('ann@example.org');
        expect(sent.includes('\r\n')).toBe(end === '\r\n' && lines.length > 1);
        expect(sent.split(SHARE_TYPE)).toHaveLength(2);
        if (length > 0) {
          for (const text of lines.slice(lines.indexOf('') + 1).filter((line) => line !== ''))
            expect(sent).toContain(text);
        }
        // A second one is found after the first.
        expect(findPart(attachPart(sent, Uint8Array.of(9), 'second'))).toEqual(content);
      }
    }
  });

  test('a mail with a type keeps it for its text, and a signed one is wrapped whole', () => {
    const sent = attachPart(TYPED.join('\n'), Uint8Array.of(1), 'bb');
    const head = parseHead(sent);
    expect(fieldValues(head, 'content-type')).toEqual(['multipart/mixed; boundary="bb"']);
    expect(fieldValues(head, 'mime-version')).toEqual(['1.0']);
    expect(head.body).toContain(
      '\n--bb\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\nHällo\n',
    );
    const signed = attachPart(ALTERNATIVE.join('\n'), Uint8Array.of(1), 'bb');
    expect(signed).toContain('--xx--\nepilogue\n\n--bb\n');
  });

  test('mails that were made to confuse have no part, and come to an end', () => {
    const nested = 'Content-Type: multipart/mixed; boundary=b\n\n--b\n'.repeat(2000);
    expect(findPart(nested)).toBeNull();
    expect(
      findPart(`Content-Type: multipart/mixed; boundary=b\n\n${'--b\n\nx\n'.repeat(50_000)}`),
    ).toBeNull();
    expect(findPart('Content-Type: multipart/mixed\n\n--\n')).toBeNull();
    expect(findPart(`Content-Type: multipart/mixed; boundary=b\n\n--b`)).toBeNull();
    expect(findPart(`Content-Type: ${SHARE_TYPE}\n\nabcd`)).toBeNull();
    for (let i = 0; i < 300; i++) findPart(String.fromCharCode(...random.bytes(300)));
    const sent = attachPart(MIXED.join('\r\n'), random.bytes(60), 'bb');
    for (let length = 0; length < sent.length; length++) findPart(sent.slice(0, length));
  });
});

describe('parseHead', () => {
  test('gives back every byte', () => {
    for (let i = 0; i < 500; i++) {
      const bytes = random
        .bytes(random.below(80))
        .map((byte) => (byte < 60 ? [10, 13, 32, 58][byte & 3] : byte));
      const mail = String.fromCharCode(...bytes);
      const { fields, body } = parseHead(mail);
      expect(fields.map(({ raw }) => raw).join('') + body).toBe(mail);
    }
  });

  test('unfolds, ignores case, and reads UTF-8', () => {
    const head = parseHead(
      'SUBJECT : a\r\n\tb\r\nfrom:x\r\nbroken line\r\nTo: j\u00c3\u00b6rg@example.org\r\n\r\nfrom: y',
    );
    expect(fieldValues(head, 'Subject')).toEqual(['a\tb']);
    expect(fieldValues(head, 'From')).toEqual(['x']);
    expect(fieldValues(head, 'to')).toEqual(['jörg@example.org']);
    expect(head.body).toBe('\r\nfrom: y');
  });
});

test('withFields puts fields in front, after the line of a mailbox, and removes those that came', () => {
  const mail = 'From ann\nX-Known: yes\n forged\nSubject: x\nx-known: no\n\nX-Known: body\n';
  expect(withFields(mail, [['X-Known', 'no']])).toBe('From ann\nX-Known: no\nSubject: x\n\nX-Known: body\n');
  expect(withFields('Subject: x\r\n\r\nb', [['A', '1']])).toBe('A: 1\r\nSubject: x\r\n\r\nb');
});
