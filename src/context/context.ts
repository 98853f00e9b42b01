import type { SessionData } from './actor.ts'
import type { WentLive } from './applying.ts'
import type { Asking } from './asking.ts'
import type { Seen } from './capabilities.ts'
import type { SectionEditor, SectionReader } from './sections.ts'
import type { Edits } from './staging.ts'
import type { ConfigView, SectionName } from '../model/sections.ts'

/** The node that answers. */
export interface Here {
  readonly nodeId: string
  readonly version: string
  readonly running: ConfigView
}

type Common = Here & Asking & Seen<'read'>

interface Reading {
  section<N extends SectionName>(name: N): SectionReader<N>
}
interface Staging extends Seen<'stage'> {
  section<N extends SectionName>(name: N): SectionEditor<N>
  readonly work: Edits
}
/** Acting handlers tell the audit log which user logged in: a code or a name does not identify the user. */
interface Acting extends Seen<'act'> {
  readonly work: { noteLogin(session: SessionData): void }
}
/** Applying handlers tell the audit log what an apply made live. */
interface Applying extends Seen<'apply'> {
  readonly work: { noteLive(live: WentLive | undefined): void }
}

/** The context of a handler, by the effect that its endpoint declares: a wrong side effect does not compile. */
export interface ContextOf {
  read: Common & Reading
  stage: Common & Staging
  act: Common & Reading & Acting
  'stage-and-act': Common & Staging & Acting
  apply: Common & Reading & Applying
}
export type Effect = keyof ContextOf
