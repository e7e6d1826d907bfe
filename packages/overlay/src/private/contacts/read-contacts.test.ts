import { describe, expect, test } from 'vitest';
import { readContacts } from './read-contacts.ts';

describe('vCards', () => {
  test('of versions 2.1, 3.0 and 4.0, with folded lines, groups and quoted-printable', () => {
    const text = [
      'BEGIN:VCARD',
      'VERSION:3.0',
      'FN:Ann Smith',
      'EMAIL;TYPE=INTERNET,HOME:Ann@Example.org',
      'item1.EMAIL;type=INTERNET;type=pref:ann.smith@exa',
      ' mple.com',
      'NOTE:EMAIL:not@example.org',
      'X-EMAIL:no@example.org',
      'END:VCARD',
      'BEGIN:VCARD',
      'VERSION:4.0',
      'EMAIL;PID=1.1;TYPE="work:x":bob@example.org',
      'EMAIL:mailto:carol@example.org',
      'EMAIL:a\\,b@example.org',
      'END:VCARD',
      'BEGIN:VCARD',
      'VERSION:2.1',
      'EMAIL;INTERNET;ENCODING=QUOTED-PRINTABLE:j=C3=B6rg@exam=',
      'ple.org',
      'email;QUOTED-PRINTABLE:dan=40example.org',
      'END:VCARD',
    ];
    for (const end of ['\r\n', '\n']) {
      expect(readContacts(text.join(end))).toEqual({
        format: 'vcard',
        addresses: [
          'ann@example.org',
          'ann.smith@example.com',
          'bob@example.org',
          'carol@example.org',
          'jörg@example.org',
          'dan@example.org',
        ],
        refused: 1,
      });
    }
  });
});

describe('tables', () => {
  test('of Google, Outlook and Thunderbird', () => {
    const google =
      'First Name,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Value\nAnn,* Work,ann@example.org ::: ann@example.com,\nBob,,BOB@example.org,"b2@example.org"\n';
    expect(readContacts(google)).toMatchObject({
      format: 'csv',
      addresses: ['ann@example.org', 'ann@example.com', 'bob@example.org', 'b2@example.org'],
    });
    const outlook =
      '\uFEFF"Name","E-mail Address","Notes"\r\n"Smith, ""A""","ann@example.org","see x@y.z\r\nand more"\r\n';
    expect(readContacts(outlook).addresses).toEqual(['ann@example.org']);
    const thunderbird = 'Display Name;Primary Email;Secondary Email\nAnn;ann@example.org;a2@example.org\n';
    expect(readContacts(thunderbird).addresses).toEqual(['ann@example.org', 'a2@example.org']);
  });

  test('without names of columns, and with one column', () => {
    expect(readContacts('ann@example.org,Ann\nbob@example.org,Bob').addresses).toEqual([
      'ann@example.org',
      'bob@example.org',
    ]);
    const text = 'who\temail\tother mail\nx\tann@example.org\tbob@example.org\n';
    expect(readContacts(text, { column: 'other mail' }).addresses).toEqual(['bob@example.org']);
    expect(() => readContacts(text, { format: 'csv', column: 'phone' })).toThrow(
      /expected a column phone, got who/,
    );
    expect(readContacts('', { format: 'csv' }).addresses).toEqual([]);
  });
});

describe('mails', () => {
  const box = [
    'From ann@example.org Mon Jan  1 00:00:00 2024',
    'From: Me <me@example.org>',
    'To: "Smith, Ann" <ann@example.org>,',
    '\tBob <bob@example.org>',
    'Cc: undisclosed-recipients:;',
    'Subject: To: not@example.org',
    '',
    'From the beginning: this is a body.',
    'To: body@example.org',
    '',
    '>From here on',
    '',
    'From bob@example.org Tue Jan  2 00:00:00 2024',
    'Return-Path: <bob@example.org>',
    'From: bob@example.org',
    'To: me@example.org',
    'Bcc: eve@example.org',
    '',
    'To: other@example.org',
    '',
  ];

  test('of a mailbox: the recipients, or the fields that are named', () => {
    for (const end of ['\n', '\r\n']) {
      const text = box.join(end);
      expect(readContacts(text)).toEqual({
        format: 'mbox',
        addresses: ['ann@example.org', 'bob@example.org', 'me@example.org', 'eve@example.org'],
        refused: 0,
      });
      expect(readContacts(text, { fields: ['from'] }).addresses).toEqual([
        'me@example.org',
        'bob@example.org',
      ]);
    }
  });

  test('a single mail', () => {
    expect(readContacts('Received: from x\nTo: ann@example.org\n\nTo: no@example.org').addresses).toEqual([
      'ann@example.org',
    ]);
  });
});

test('a million characters of hostile lines end within the time of a test', () => {
  const folded = `BEGIN:VCARD\nEMAIL:ann@example.org\nX\n${' =\n'.repeat(330_000)}END:VCARD\n`;
  expect(readContacts(folded).addresses).toEqual(['ann@example.org']);
  const quoted = `BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:a=\n${'=\n'.repeat(500_000)}`;
  expect(readContacts(quoted).addresses).toEqual([]);
  const times = `From a 10:10\nTo: ann@example.org\n\nFrom ${'11:'.repeat(330_000)}`;
  expect(readContacts(times).addresses).toEqual(['ann@example.org']);
});

test('lines, with comments, in any spelling', () => {
  expect(
    readContacts('# mine\n\nAnn@example.org\nBob <bob@example.org>\nnothing\nann@EXAMPLE.org\n'),
  ).toEqual({
    format: 'lines',
    addresses: ['ann@example.org', 'bob@example.org'],
    refused: 1,
  });
  expect(readContacts('')).toEqual({ format: 'lines', addresses: [], refused: 0 });
});
