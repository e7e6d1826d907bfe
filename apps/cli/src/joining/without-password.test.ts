import { expect, test } from 'vitest';
import { withoutPassword } from './without-password.ts';

test('withoutPassword hides passwords wherever a URL can have them', () => {
  const cases: [source: string, shown: string][] = [
    ['postgres://u:secret@h:1/d', 'postgres://u:***@h:1/d'],
    ['postgresql://u:sec@ret@h/d', 'postgresql://u:***@h/d'],
    ['postgres://u:se/c?r#et@h/d', 'postgres://u:***@h/d'],
    ['postgres://:secret@/d?host=/run', 'postgres://:***@/d?host=/run'],
    ['postgres://h/d?user=u&password=secret&x=1', 'postgres://h/d?user=u&password=***&x=1'],
    ['postgres://h/d?sslpassword=secret', 'postgres://h/d?sslpassword=***'],
    ['MYSQL://u:secret@h', 'MYSQL://u:***@h'],
    ['postgres://u@h:5432/d', 'postgres://u@h:5432/d'],
    ['postgres://h:5432/d', 'postgres://h:5432/d'],
    ['a@b:c.csv', 'a@b:c.csv'],
    ['sqlite:file.db', 'sqlite:file.db'],
  ];
  for (const [source, shown] of cases) expect(withoutPassword(source)).toBe(shown);
});

test('withoutPassword never shows a password, whatever characters it has', () => {
  for (const letter of [...'@:/?#&=% \\'])
    expect(withoutPassword(`postgres://user:ab${letter}secret@host/db`)).not.toContain('secret');
});
