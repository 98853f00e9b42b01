import type { Argument, Command, Option } from 'commander'
import { inserted, lineIn } from '../bash-line.ts'
import type { Run } from '../command.ts'
import { Failure } from '../failure.ts'
import { printable } from '../output.ts'
import { KINDS, namesOf } from './records.ts'

/** Completion in shells: each asks this program what may come next. */

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_fulcrum() {
  mapfile -t COMPREPLY < <(fulcrum __complete_bash -- "\${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
}
complete -o default -F _fulcrum fulcrum
`,
  zsh: `#compdef fulcrum
_fulcrum() {
  local -a found
  found=("\${(@f)$(fulcrum __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  compadd -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' -a found
}
compdef _fulcrum fulcrum
`,
  fish: `function __fulcrum_complete
  set -l last (string unescape -- (commandline -ct); or echo)
  fulcrum __complete -- (commandline -opc)[2..-1] "$last" 2>/dev/null
end
complete -c fulcrum -f -a '(__fulcrum_complete)'
`,
}

export function addCompletion(program: Command, run: Run): void {
  program
    .command('completion')
    .description('write a script for completion: source <(fulcrum completion bash)')
    .argument('<shell>', Object.keys(SCRIPTS).join(', '))
    .action((shell: string) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
      if (script === undefined) throw new Failure(`${shell}: say ${Object.keys(SCRIPTS).join(', ')}`)
      run.terminal.out(script)
    })
  const tell = (found: readonly string[]) => run.terminal.out(found.map((one) => `${one}\n`).join(''))
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => tell(await candidates(program, run, words)))
  // Bash puts onto its line what it is told as it is, where the others quote it.
  program
    .command('__complete_bash', { hidden: true })
    .argument('<line>')
    .argument('<end>')
    .action(async (line: string, end: string) => {
      const [, ...words] = lineIn(line)?.words ?? []
      if (words.length > 0) tell(inserted(await candidates(program, run, words), line, end))
    })
}

/** What may stand in the place of the last word. */
async function candidates(program: Command, run: Run, words: readonly string[]): Promise<readonly string[]> {
  const last = words.at(-1)?.toLowerCase() ?? ''
  const found = await possible(program, run, words).catch(() => [])
  // Shells show them as they are.
  return found.filter((one) => one.toLowerCase().startsWith(last) && one === printable(one))
}

async function possible(program: Command, run: Run, words: readonly string[]): Promise<readonly string[]> {
  const { command, given, option } = place(program, words.slice(0, -1))
  if (option?.long === '--context') return Object.keys(run.contexts.all().contexts)
  if (option !== undefined) return []
  if (words.at(-1)?.startsWith('-') === true)
    return [...command.options, ...program.options].map(({ long }) => long ?? '')
  const commands = command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'))
  if (commands.length > 0) return commands
  const argument = command.registeredArguments.at(given.length)
  return argument === undefined ? [] : await valuesOf(argument, given, run)
}

interface Place {
  readonly command: Command
  /** Its arguments so far. */
  readonly given: readonly string[]
  /** Whose value comes next. */
  readonly option: Option | undefined
}

function place(program: Command, words: readonly string[]): Place {
  let [command, option, given]: [Command, Option | undefined, string[]] = [program, undefined, []]
  for (const word of words) {
    if (option !== undefined) option = undefined
    else if (word.startsWith('-')) {
      const known = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word)
      option = known !== undefined && (known.required || known.optional) ? known : undefined
    } else {
      const inside: Command | undefined = command.commands.find(
        (one) => one.name() === word || one.aliases().includes(word),
      )
      if (inside === undefined) given.push(word)
      else [command, given] = [inside, []]
    }
  }
  return { command, given, option }
}

/** The names that there are now. */
async function valuesOf(argument: Argument, given: readonly string[], run: Run): Promise<readonly string[]> {
  const named = (kind: string) => namesOf(run.connect({}), kind)
  if (argument.name() === 'kind') return Object.keys(KINDS)
  if (argument.name() === 'shell') return Object.keys(SCRIPTS)
  if (argument.name() === 'server') return named('servers')
  if (argument.name() === 'user') return named('users')
  if (argument.name() === 'role') return named('roles')
  if (argument.name() === 'service') return [...(await named('services')), ...(await named('backends'))]
  if (argument.name() === 'record' && given[0] !== undefined) return named(given[0])
  return argument.name() === 'context' ? Object.keys(run.contexts.all().contexts) : []
}
