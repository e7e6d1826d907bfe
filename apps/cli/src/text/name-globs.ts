/**
 * `--include`, `--exclude` and `--exclude-dir`, with the meaning that they have in GNU grep: a glob
 * is compared with the last part of a path, and `*` matches slashes as well. Of several globs that
 * match, the last one decides. If none matches, a file is taken unless the first one was
 * `--include`.
 */

export type GlobKind = 'include' | 'exclude' | 'exclude-dir';

export interface NameGlob {
  readonly kind: GlobKind;
  readonly glob: string;
}

export class NameGlobs {
  readonly #files: readonly { isInclude: boolean; regexp: RegExp }[];
  readonly #folders: readonly RegExp[];

  constructor(globs: readonly NameGlob[]) {
    this.#files = globs
      .filter(({ kind }) => kind !== 'exclude-dir')
      .map(({ kind, glob }) => ({ isInclude: kind === 'include', regexp: globRegExp(glob) }));
    this.#folders = globs
      .filter(({ kind }) => kind === 'exclude-dir')
      .map(({ glob }) => globRegExp(glob.replace(/(?<=.)\/+$/, '')));
  }

  /** Whether a file that was found in a folder is searched. */
  takesFile(name: string): boolean {
    return this.#takes((regexp) => regexp.test(name));
  }

  /** Whether a folder that was found in another one is searched. */
  takesFolder(name: string): boolean {
    return !this.#folders.some((regexp) => regexp.test(name));
  }

  /** Whether a path below a folder is searched: the folders of the path, and its last part. */
  takesPath(path: string): boolean {
    const names = path.split('/');
    return names.slice(0, -1).every((name) => this.takesFolder(name)) && this.takesFile(names.at(-1)!);
  }

  /** Whether a file that the user named is searched. A glob may match any of its last parts. */
  takesNamedFile(path: string): boolean {
    const ends = endsOf(path);
    return this.#takes((regexp) => ends.some((end) => regexp.test(end)));
  }

  takesNamedFolder(path: string): boolean {
    const ends = endsOf(path.replace(/(?<=.)\/+$/, ''));
    return !this.#folders.some((regexp) => ends.some((end) => regexp.test(end)));
  }

  #takes(matches: (regexp: RegExp) => boolean): boolean {
    const last = this.#files.findLast(({ regexp }) => matches(regexp));
    if (last !== undefined) return last.isInclude;
    return this.#files.length === 0 || !this.#files[0].isInclude;
  }
}

/** The path, and each of its parts that begins behind a slash and goes to the end. */
function endsOf(path: string): string[] {
  const ends = [path];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
    if (path[at + 1] !== '/') ends.push(path.slice(at + 1));
  return ends;
}

/**
 * A glob of fnmatch as a regular expression: `*`, `?`, `[…]` and a backslash before any character.
 */
function globRegExp(glob: string): RegExp {
  let text = '';
  for (let at = 0; at < glob.length; at++) {
    const sign = glob[at];
    const end = sign === '[' ? bracketEnd(glob, at) : -1;
    if (sign === '*') text += '[^]*';
    else if (sign === '?') text += '[^]';
    else if (end > 0) {
      text += bracket(glob.slice(at + 1, end));
      at = end;
    } else text += quoted(sign === '\\' && at + 1 < glob.length ? glob[++at] : sign);
  }
  return new RegExp(`^${text}$`, 'u');
}

function quoted(sign: string): string {
  return sign.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
}

/** The place of the bracket that ends a set, or -1. */
function bracketEnd(glob: string, start: number): number {
  let at = start + 1;
  if (glob[at] === '!' || glob[at] === '^') at++;
  if (glob[at] === ']') at++;
  for (; at < glob.length; at++) {
    if (glob[at] === '[' && glob[at + 1] === ':') at = Math.max(at, glob.indexOf(':]', at + 2) + 1);
    else if (glob[at] === '\\') at++;
    else if (glob[at] === ']') return at;
  }
  return -1;
}

const CLASSES: Record<string, string> = {
  alpha: 'A-Za-z',
  digit: '0-9',
  alnum: 'A-Za-z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  space: '\\s',
  punct: '!-\\/:-@\\[-`{-~',
  xdigit: '0-9A-Fa-f',
};

function bracket(body: string): string {
  const isNegated = body[0] === '!' || body[0] === '^';
  let text = '';
  for (let at = isNegated ? 1 : 0; at < body.length; at++) {
    const name = /^\[:(\w+):\]/.exec(body.slice(at))?.[1];
    if (name !== undefined && name in CLASSES) {
      text += CLASSES[name];
      at += name.length + 3;
    } else if (body[at] === '-' && text !== '' && at + 1 < body.length) text += '-';
    else text += quoted(body[at] === '\\' && at + 1 < body.length ? body[++at] : body[at]);
  }
  return `[${isNegated ? '^' : ''}${text}]`;
}
