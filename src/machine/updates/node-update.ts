import type { ChangedPackage } from '../../drivers/apt/parse.ts'
import type { Job } from '../../model/job.ts'

/** What the nodes of a cluster ask each other to bring a package to all of them. */
export const NODE_UPDATE = '/update'

export interface NodeUpdate {
  /** Id of the job on the node that is asked: a job that it knows is not begun again. */
  readonly jobId: string
  /** Name of the package. */
  readonly name: string
  /** E-mail of the user who asked for it. */
  readonly by: string
}

export interface NodeUpdateTold {
  /** State of that job; undefined if it cannot be begun now. */
  readonly state?: Job['state']
  /** Why it cannot be begun now. */
  readonly refused?: string
  readonly step: string
  /** Why it has failed. */
  readonly problem?: string
  /** What came of it; undefined where nothing newer was there. */
  readonly changed?: ChangedPackage
  /** Version of Fulcrum that answers. */
  readonly version: string
  /** The package is that of Fulcrum. */
  readonly isOwn: boolean
  /** Number of the last entry that it has carried out. */
  readonly sequence: number
  /** Why it follows the cluster no longer. */
  readonly halted?: string
}

/** Sound enough for what has another version: what is missing was not told. */
export const isNodeUpdateTold = (told: unknown): told is NodeUpdateTold =>
  typeof Reflect.get(Object(told), 'version') === 'string' && typeof Reflect.get(Object(told), 'sequence') === 'number'

export const isNodeUpdate = (asked: unknown): asked is NodeUpdate =>
  ['jobId', 'name', 'by'].every((field) => typeof Reflect.get(Object(asked), field) === 'string')
