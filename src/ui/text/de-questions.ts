/** What the page asks before something is lost or interrupted. */
export const germanOfQuestions: Readonly<Record<string, string>> = {
  'Delete {name}? It goes with the next apply.': '{name} löschen? Es verschwindet beim nächsten Anwenden.',
  'What you have typed is not saved, and is lost then. Leave it?':
    'Was Sie eingegeben haben, ist nicht gespeichert und ginge verloren. Verwerfen?',
}
