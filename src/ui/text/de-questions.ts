/** What the page asks before something is lost or interrupted. */
export const germanOfQuestions: Readonly<Record<string, string>> = {
  'Delete {name}? It goes with the next apply.': '{name} löschen? Es verschwindet beim nächsten Anwenden.',
  'Delete {name}? Whatever uses it is refused at once.': '{name} löschen? Was es verwendet, wird sofort abgewiesen.',
  'Discard {count:change|changes}, {others} of other people?':
    '{count:Änderung|Änderungen} verwerfen, davon {others} von anderen?',
  'Restart {name}? What it does is interrupted.': '{name} neu starten? Was es tut, wird unterbrochen.',
  'End the silence of {name}? What still fires is told then.':
    'Stummschaltung von {name} beenden? Was dann noch anschlägt, wird gemeldet.',
  'What is shown here is shown this once. Leave it?': 'Was hier steht, wird nur dieses eine Mal gezeigt. Verlassen?',
  'What you have typed is not saved, and is lost then. Leave it?':
    'Was Sie eingegeben haben, ist nicht gespeichert und ginge verloren. Verwerfen?',
}
