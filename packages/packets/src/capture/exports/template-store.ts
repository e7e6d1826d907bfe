/**
 * The state of exporters that NetFlow 9 and IPFIX need: templates and sampling rates of each
 * exporter's observation domains, and the data that wait for a template.
 *
 * An exporter sends templates every few minutes and a collector that starts in between cannot read
 * its data until then, so data without a template are counted by template and not an error. Memory
 * is bounded against senders that invent domains and templates: the least recently used domain, the
 * oldest template and the oldest sampler give way. A flood of invented domains can therefore push
 * out a real one, whose data wait until its next template; UDP has no way to tell them apart.
 */

import type { Template } from './template.ts';

const MAX_DOMAINS = 1024;
const MAX_TEMPLATES = 256;
/** Templates of all domains together. */
const MAX_TEMPLATES_IN_ALL = 16_384;
const MAX_SAMPLERS = 64;
const MAX_WAITING = 1024;

/** Data that cannot be read yet. */
export interface WaitingData {
  /** The exporter, as the caller named it. */
  readonly exporter: string;
  /** Source id of NetFlow 9 or observation domain of IPFIX. */
  readonly domain: number;
  /** Number of the template. */
  readonly template: number;
  /** Sets of records that were passed over. */
  readonly sets: number;
}

/** Templates and sampling rates of one observation domain. */
export class Domain {
  readonly exporter: string;
  readonly number: number;
  readonly templates = new Map<number, Template>();
  /** Sampling rates by the number of the sampler; 0 is the rate of the whole domain. */
  readonly samplers = new Map<number, number>();

  constructor(exporter: string, number: number) {
    this.exporter = exporter;
    this.number = number;
  }

  setSampler(id: number, rate: number): void {
    if (!this.samplers.has(id) && this.samplers.size >= MAX_SAMPLERS) deleteFirst(this.samplers);
    this.samplers.set(id, rate);
  }
}

export class TemplateStore {
  readonly #domains = new Map<string, Domain>();
  readonly #waiting = new Map<string, WaitingData>();
  #templates = 0;

  /** Data that wait for a template, by exporter, domain and template. */
  get waiting(): WaitingData[] {
    return [...this.#waiting.values()];
  }

  domain(exporter: string, number: number): Domain {
    const name = `${number} ${exporter}`;
    let domain = this.#domains.get(name);
    // Inserted again, so that the first one of the map is the least recently used.
    if (domain !== undefined) this.#domains.delete(name);
    else domain = new Domain(exporter, number);
    if (this.#domains.size >= MAX_DOMAINS) this.#dropOldestDomain();
    this.#domains.set(name, domain);
    return domain;
  }

  setTemplate(domain: Domain, id: number, template: Template): void {
    if (domain.templates.delete(id)) this.#templates--;
    if (domain.templates.size >= MAX_TEMPLATES) {
      deleteFirst(domain.templates);
      this.#templates--;
    }
    domain.templates.set(id, template);
    this.#templates++;
    this.#waiting.delete(`${id} ${domain.number} ${domain.exporter}`);
    while (this.#templates > MAX_TEMPLATES_IN_ALL && this.#domains.size > 1) this.#dropOldestDomain();
  }

  /** Withdraws a template (RFC 7011, section 8.1), or all of a domain without a number. */
  withdraw(domain: Domain, id?: number): void {
    if (id !== undefined) {
      if (domain.templates.delete(id)) this.#templates--;
      return;
    }
    this.#templates -= domain.templates.size;
    domain.templates.clear();
  }

  addWaiting(domain: Domain, template: number): void {
    const { exporter, number } = domain;
    const name = `${template} ${number} ${exporter}`;
    const sets = (this.#waiting.get(name)?.sets ?? 0) + 1;
    if (sets === 1 && this.#waiting.size >= MAX_WAITING) deleteFirst(this.#waiting);
    this.#waiting.set(name, { exporter, domain: number, template, sets });
  }

  #dropOldestDomain(): void {
    const [[name, oldest]] = this.#domains;
    this.#templates -= oldest.templates.size;
    this.#domains.delete(name);
  }
}

function deleteFirst<K>(map: Map<K, unknown>): void {
  const [first] = map.keys();
  map.delete(first);
}
