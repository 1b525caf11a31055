// Old help module. Kept only until its articles have moved to the knowledge base.

export interface HelpArticle {
  id: string;
  title: string;
  category: string;
  content: string;
  keywords: string[];
}

/* Articles are shown in this order in the old help drawer. */
export const HELP_CONTENT: HelpArticle[] = [
  // --- Getting around -------------------------------------------------
  {
    id: 'help-navigation',
    title: 'Finding your way around',
    category: 'getting-started',
    content: `The bar on the left leads to the main areas.

- **Directory**: people, groups and org units
- **Tools**: developer console and imports
- **Settings**: for administrators only

The search field at the top looks through all of them.`,
    keywords: ['navigation', 'menu', 'sidebar', 'search field'],
  },

  /* The importer was rewritten in spring;
     the column names below are the new ones. */
  {
    id: 'help-import-csv',
    title: 'Importing people from a CSV file',
    category: "directory",
    content: `Open **Tools > Import** and drop a file there.

The first line has to name the columns: \`email\`, \`firstName\`, \`lastName\` and, if you like, \`ou\`.

1. Helios shows a preview with all mistakes marked.
2. Correct the file or leave out the marked lines.
3. Press **Import** to add the people.`,
    keywords: ['import', 'csv', "upload", 'bulk'],
  },

  // TODO: mention the export button // see the ticket "audit export"
  {
    id: "help-audit-log",
    title: "Who changed what? The portal's audit log",
    category: 'security',
    content: `Every change is recorded with time, person and old value.
Find the list under **Settings > Security > Audit log**.

Entries are kept for one year and cannot be edited. // not even by administrators`,
    keywords: [
      'audit',
      'log',
      'changes',
      'history', // trailing comma on purpose
    ],
  },

  {
    id: 'help-keyboard-shortcuts',
    title: 'Shortcuts for people who don\'t like the mouse',
    category: 'getting-started',
    content: `| Keys | Effect |
|---|---|
| / | jump to the search field |
| g then p | open People |
| g then c | open the console |
| Ctrl+L | same as typing \`clear\` |

Press ? anywhere to see this table.`,
    keywords: ['keyboard', 'shortcuts', "keys", 'hotkeys',],
  },
];
