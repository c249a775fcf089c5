# Turns FOLDOC's dictionary text into JSON Lines, one article a line; every `nth` article goes to the file `valid`,
# the others to the file `train`. The same input always gives the same two files.
#   awk -v train=train.jsonl -v valid=valid.jsonl -v nth=25 -f articles_to_jsonl.awk foldoc.txt

function write_article(file) {
  if (article != "") {
    file = ++count % nth == 0 ? valid : train
    printf "{\"text\":\"%s\"}\n", article > file
  }
  article = ""
}

function escaped(line) {
  gsub(/\\/, "&&", line)
  gsub(/"/, "\\\"", line)
  gsub(/\t/, "\\t", line)
  gsub(/[\001-\010\013-\037]/, " ", line)
  return line
}

# A headword starts its line, behind an empty line; the text under it is indented.
/^[^ ]/ && previous == "" { write_article() }
{ article = article escaped($0) "\\n"; previous = $0 }
END { write_article() }
