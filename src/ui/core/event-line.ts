const KINDS: Readonly<Record<string, string>> = {
  apply: 'Apply',
  job: 'Job',
  realServer: 'Server',
  certificate: 'Certificate',
  login: 'Login',
  node: 'Node',
  cluster: 'Cluster',
  address: 'Address',
  syslog: 'Syslog',
}
/** Fields that name the subject of an event. Its author comes last, because a job has a title as well. */
const NAMES = ['name', 'ip', 'title', 'email', 'by']

interface EventData {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}
export interface EventLine {
  /** Kind and state, in English. */
  readonly texts: readonly string[]
  /** Names of its subject. */
  readonly names: readonly string[]
  readonly reason: string | undefined
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Returns an event in one line, and its reason. */
export function eventLineOf({ kind, data }: EventData): EventLine {
  const subject = NAMES.map((name) => data[name]).find(isText)
  const reason = data['reason'] ?? Reflect.get(Object(data['problem']), 'message')
  return {
    texts: [KINDS[kind] ?? kind, data['state']].filter(isText),
    names: [subject, data['backendName']].filter(isText),
    reason: isText(reason) ? reason : undefined,
  }
}
