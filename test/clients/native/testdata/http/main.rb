require 'json'
require 'net/http'

def snowfence_ids(n = 1)
  url = URI("#{ENV['SNOWFENCE_SERVER'] || 'http://127.0.0.1:8080'}/v1/default/next?n=#{n}")
  answer = Net::HTTP.get_response(url, 'Authorization' => "Bearer #{ENV['SNOWFENCE_TOKEN']}")
  body = JSON.parse(answer.body)
  raise body['detail'] || answer.code unless answer.is_a?(Net::HTTPOK)
  body['ids'].map(&:to_i)
end
puts snowfence_ids(3)
