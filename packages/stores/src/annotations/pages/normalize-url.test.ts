import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { canonicalUrl, MOST_URL_LENGTH, normalizeUrl } from './normalize-url.ts';

test.each([
  // scheme, user, host and port
  ['https://example.org', 'https://example.org/'],
  ['http://example.org/', 'https://example.org/'],
  ['HTTP://EXAMPLE.org/A', 'https://example.org/A'],
  ['https://ada:secret@example.org/a', 'https://example.org/a'],
  ['http://example.org:80/a', 'https://example.org/a'],
  ['https://example.org:443/a', 'https://example.org/a'],
  ['http://example.org:443/a', 'https://example.org/a'],
  ['https://example.org:80/a', 'https://example.org/a'],
  ['http://example.org:8080/a', 'https://example.org:8080/a'],
  ['https://example.org./a', 'https://example.org/a'],
  ['https://www.example.org/a', 'https://example.org/a'],
  ['https://www.com/a', 'https://www.com/a'],
  ['https://www.www.example.org/a', 'https://www.www.example.org/a'],
  ['https://bücher.example/a', 'https://xn--bcher-kva.example/a'],
  ['https://xn--bcher-kva.example/a', 'https://xn--bcher-kva.example/a'],
  ['https://EXAMPLE。org/a', 'https://example.org/a'],
  ['http://[2001:DB8::1]:80/a', 'https://[2001:db8::1]/a'],
  ['http://0x7f.1/a', 'https://127.0.0.1/a'],
  // path
  ['https://example.org/a/../b/./c', 'https://example.org/b/c'],
  ['https://example.org/a/', 'https://example.org/a'],
  ['https://example.org/a///', 'https://example.org/a'],
  ['https://example.org//a', 'https://example.org//a'],
  ['https://example.org/index.html', 'https://example.org/'],
  ['https://example.org/a/INDEX.PHP', 'https://example.org/a'],
  ['https://example.org/a/index.html/', 'https://example.org/a'],
  ['https://example.org/my-index.html', 'https://example.org/my-index.html'],
  ['https://example.org/%7Eada/%2f%e4', 'https://example.org/~ada/%2F%E4'],
  ['https://example.org/ä b', 'https://example.org/%C3%A4%20b'],
  ['https://example.org/100%', 'https://example.org/100%25'],
  ['https://example.org/%%34%31', 'https://example.org/%2541'],
  [
    'https://example.org/|^`{}[]"<>\'?|^`{}[]"<>\'',
    'https://example.org/%7C%5E%60%7B%7D%5B%5D%22%3C%3E%27?%7C%5E%60%7B%7D%5B%5D%22%3C%3E%27',
  ],
  ['https://example.org/#!|^`{}[]"<>\'', 'https://example.org/#!%7C%5E%60%7B%7D%5B%5D%22%3C%3E%27'],
  ['https://example.org/a\\b\tc\n', 'https://example.org/a/bc'],
  // query
  ['https://example.org/?', 'https://example.org/'],
  ['https://example.org/a/?b=2&a=1', 'https://example.org/a?b=2&a=1'],
  ['https://example.org/?a&&b=&', 'https://example.org/?a&b='],
  ['https://example.org/?utm_source=x&id=7&UTM_Medium=y', 'https://example.org/?id=7'],
  ['https://example.org/?fbclid=x', 'https://example.org/'],
  ['https://example.org/?%75tm_source=x', 'https://example.org/'],
  ['https://example.org/?mtm_kwd=x&pk_vid=1&hsa_cam=2&q=%3d', 'https://example.org/?q=%3D'],
  ['https://example.org/?ref=home&source=b', 'https://example.org/?ref=home&source=b'],
  ['https://example.org/?q=utm_source=x', 'https://example.org/?q=utm_source=x'],
  // fragment
  ['https://example.org/#part-2', 'https://example.org/'],
  ['https://example.org/#:~:text=words', 'https://example.org/'],
  ['https://example.org/#!/mail/7', 'https://example.org/#!/mail/7'],
  ['https://example.org/app#/mail/7', 'https://example.org/app#/mail/7'],
  ['https://example.org/app#/', 'https://example.org/app'],
  ['https://example.org/app#!', 'https://example.org/app'],
])('normalizeUrl makes of %s %s, and leaves that as it is', (text, form) => {
  expect(normalizeUrl(text)).toBe(form);
  expect(normalizeUrl(form)).toBe(form);
});

test.each([
  '',
  'example.org',
  '//example.org/',
  'about:blank',
  'chrome://settings/',
  'file:///etc/passwd',
  'data:text/html,hello',
  'javascript:alert(1)',
  'ftp://example.org/',
  'blob:https://example.org/7',
  'https://',
  'https://exa mple.org/',
  'https://a"=.example/',
  'https://a*b.example/',
  'https://example.org:99999/',
  `https://example.org/${'x'.repeat(MOST_URL_LENGTH)}`,
  // Short before, too long in the form with percent-encodings.
  `https://example.org/${'ä'.repeat(500)}`,
])('normalizeUrl gives null for %.40s', (text) => {
  expect(normalizeUrl(text)).toBe(null);
});

test('normalizeUrl gives null for values that are no text', () => {
  for (const value of [undefined, null, 7, {}]) expect(normalizeUrl(value as never)).toBe(null);
});

test('normalizing a normal form changes nothing, for URLs from random pieces', () => {
  const random = new Random(28);
  const pieces = [
    '%',
    '%2',
    '%41',
    '%2e',
    '/',
    '.',
    '..',
    '?',
    '&',
    '=',
    '#',
    '!',
    'utm_a',
    'index.html',
    'ä',
    ' ',
    '\\',
    ':',
    '@',
    'www.',
    'a',
    '%25',
    ';',
    '+',
    '"',
    '<',
  ];
  let forms = 0;
  for (let i = 0; i < withEffort(20_000, 2000); i++) {
    let text = random.below(4) === 0 ? 'http://www.' : 'https://a.example/';
    for (let j = random.below(12); j >= 0; j--) text += pieces[random.below(pieces.length)];
    const form = normalizeUrl(text);
    if (form === null) continue;
    forms++;
    expect(normalizeUrl(form), text).toBe(form);
  }
  expect(forms).toBeGreaterThan(100);
});

test.each([
  ['https://example.org/a?page=1', null, 'https://example.org/a?page=1'],
  ['https://example.org/a?page=1', '', 'https://example.org/a?page=1'],
  ['https://example.org/a?session=7', 'https://www.example.org/a', 'https://example.org/a'],
  ['https://example.org/a/b?x', '../c', 'https://example.org/c'],
  ['https://m.example.org/a', 'https://example.org/a', 'https://m.example.org/a'],
  ['https://evil.example/', 'https://bank.example/', 'https://evil.example/'],
  ['https://example.org/a', 'javascript:alert(1)', 'https://example.org/a'],
  ['https://example.org/a', 'http://[', 'https://example.org/a'],
  ['https://example.org:8443/a', 'https://example.org/a', 'https://example.org:8443/a'],
])('canonicalUrl of %s with the link %s is %s', (page, link, form) => {
  expect(canonicalUrl(page, link)).toBe(form);
});

test('canonicalUrl gives null for a page without notes, whatever it links to', () => {
  expect(canonicalUrl('about:blank', 'https://example.org/')).toBe(null);
});
