/**
 * Names of query parameters that tell where a visitor came from, and never which page is shown.
 *
 * The list is part of version 1 of the form of URLs: a new name would change the digests of pages,
 * so it needs a new version. Names that some sites use for contents (`ref`, `source`, `id`, `trk`)
 * are not in it: two URLs for one page cost a note, one URL for two pages shows wrong notes.
 */

const NAMES: ReadonlySet<string> = new Set([
  // Identifiers of clicks on advertisements.
  'dclid',
  'epik',
  'fbclid',
  'gad_source',
  'gbraid',
  'gclid',
  'gclsrc',
  'igsh',
  'igshid',
  'li_fat_id',
  'msclkid',
  'rdt_cid',
  'srsltid',
  'ttclid',
  'twclid',
  'wbraid',
  'yclid',
  'ysclid',
  // Mails and campaigns.
  '__hsfp',
  '__hssc',
  '__hstc',
  '_hsenc',
  '_hsmi',
  '_openstat',
  'hsctatracking',
  'mc_cid',
  'mc_eid',
  'mkt_tok',
  'oly_anon_id',
  'oly_enc_id',
  'vero_conv',
  'vero_id',
  'wickedid',
  // Visitors that one site hands to another.
  '_ga',
  '_gl',
  'guccounter',
  'guce_referrer',
  'guce_referrer_sig',
  'ref_src',
  'ref_url',
]);

const PREFIXES = ['utm_', 'mtm_', 'pk_', 'hsa_'];

/** Whether a parameter of this name is about the visitor. Case does not matter. */
export function isTrackingParameter(name: string): boolean {
  const lower = name.toLowerCase();
  return NAMES.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix));
}
