/**
 * Notes as elements. Text, names and times come in as text nodes only: nothing of a note is ever
 * parsed as HTML, and no address of a note becomes a link.
 */

export interface ListedNote {
  readonly id: string;
  readonly parent: string | null;
  readonly author: string;
  readonly text: string;
  readonly atS: number;
  readonly state: string;
  /** The state of a note that is not on the server yet. */
  readonly waiting?: string;
}

export interface NoteAction {
  readonly label: string;
  run(note: ListedNote): void;
}

export interface NoteListOptions {
  readonly group?: string | undefined;
  readonly actionsFor?: (note: ListedNote) => readonly NoteAction[];
}

/** Replies deeper than this are shown at this depth. */
const MOST_DEPTH = 4;

/** The elements of all notes, replies inside the notes that they answer. */
export function noteElements(notes: readonly ListedNote[], options: NoteListOptions = {}): HTMLElement[] {
  const ids = new Set(notes.map(({ id }) => id));
  const replies = new Map<string, ListedNote[]>();
  const roots: ListedNote[] = [];
  for (const note of notes) {
    if (note.parent === null || note.parent === note.id || !ids.has(note.parent)) roots.push(note);
    else replies.set(note.parent, [...(replies.get(note.parent) ?? []), note]);
  }
  const made = new Set<string>();
  const make = (note: ListedNote, depth: number): HTMLElement[] => {
    if (made.has(note.id)) return [];
    made.add(note.id);
    const own = noteElement(note, depth === 1 ? options : { ...options, group: undefined });
    const below = (replies.get(note.id) ?? []).flatMap((reply) => make(reply, depth + 1));
    if (depth < MOST_DEPTH) {
      own.append(...below);
      return [own];
    }
    return [own, ...below];
  };
  return roots.flatMap((note) => make(note, 1));
}

function noteElement(note: ListedNote, { group, actionsFor }: NoteListOptions): HTMLElement {
  const isDeleted = note.state === 'deleted';
  const who = element('p', 'who');
  who.append(
    element('span', 'author', isDeleted ? 'Deleted' : note.author),
    element('span', 'when', note.waiting ?? timeText(note.atS)),
  );
  if (group !== undefined) who.append(element('span', 'group', group));
  const article = element('article', 'note');
  article.append(who);
  if (!isDeleted) article.append(element('p', 'text', note.text));
  const actions = isDeleted ? [] : (actionsFor?.(note) ?? []);
  if (actions.length > 0) {
    const row = element('p', 'actions');
    for (const { label, run } of actions) {
      const button = element('button', 'plain', label) as HTMLButtonElement;
      button.type = 'button';
      button.addEventListener('click', () => run(note));
      row.append(button);
    }
    article.append(row);
  }
  return article;
}

export function element(name: string, className: string, text?: string): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

export function timeText(atS: number): string {
  const date = new Date(1000 * atS);
  if (Number.isNaN(date.getTime())) return '';
  return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
