/**
 * Says whether a version of Node is one that `engines.node` of package.json allows: undefined if
 * so, otherwise the message for the user.
 *
 * Understands the two forms that we use, `^20.19` and `>=24`, joined by `||`. npm's own semver
 * package would do more, but this runs before any package is installed.
 * @param {string} version
 * @param {string} range
 */
export function nodeVersionProblem(version, range) {
  const parts = range.split('||').map((part) => part.trim());
  if (parts.some((part) => isAllowed(version, part))) return undefined;
  return `Cannot run with this Node: expected ${parts.map(inWords).join(' or ')}, got ${version}`;
}

/**
 * @param {string} version
 * @param {string} part
 */
function isAllowed(version, part) {
  const { form, major, minor } = parse(part);
  const [ownMajor, ownMinor] = version.split('.').map(Number);
  if (ownMajor === major) return ownMinor >= minor;
  return form === '>=' && ownMajor > major;
}

/** @param {string} part */
function inWords(part) {
  const { form, major, minor } = parse(part);
  if (form === '>=') return `${major}.${minor} or later`;
  return `${major}.${minor} to ${major}.x`;
}

/** @param {string} part */
function parse(part) {
  const [, form, major, minor = '0'] = /^(\^|>=)(\d+)(?:\.(\d+))?$/.exec(part) ?? [];
  if (form === undefined)
    throw new RangeError(`Cannot read engines.node: expected ^20.19 or >=24, got ${part}`);
  return { form, major: Number(major), minor: Number(minor) };
}
